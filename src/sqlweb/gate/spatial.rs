//! The spatial part of the list of harmless built-in functions.

use super::words::Dialect;

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    // On every server.
    Group { mariadb: Some((0, 0, 0)), mysql: Some((0, 0, 0)), until: None, adjacent: false, names: &[
        "GEOMETRYCOLLECTION", "LINESTRING", "MBRCONTAINS", "MBRDISJOINT", "MBRINTERSECTS",
        "MBROVERLAPS", "MBRTOUCHES", "MBRWITHIN", "MULTILINESTRING", "MULTIPOINT", "MULTIPOLYGON",
        "POINT", "POLYGON", "ST_AREA", "ST_ASBINARY", "ST_ASTEXT", "ST_ASWKB", "ST_ASWKT",
        "ST_BUFFER", "ST_CENTROID", "ST_CONTAINS", "ST_CONVEXHULL", "ST_CROSSES", "ST_DIFFERENCE",
        "ST_DIMENSION", "ST_DISJOINT", "ST_DISTANCE", "ST_ENDPOINT", "ST_ENVELOPE", "ST_EQUALS",
        "ST_EXTERIORRING", "ST_GEOMCOLLFROMTEXT", "ST_GEOMCOLLFROMWKB",
        "ST_GEOMETRYCOLLECTIONFROMTEXT", "ST_GEOMETRYCOLLECTIONFROMWKB", "ST_GEOMETRYFROMTEXT",
        "ST_GEOMETRYFROMWKB", "ST_GEOMETRYN", "ST_GEOMETRYTYPE", "ST_GEOMFROMTEXT",
        "ST_GEOMFROMWKB", "ST_INTERIORRINGN", "ST_INTERSECTION", "ST_INTERSECTS", "ST_ISCLOSED",
        "ST_ISEMPTY", "ST_ISSIMPLE", "ST_LENGTH", "ST_LINEFROMTEXT", "ST_LINEFROMWKB",
        "ST_LINESTRINGFROMTEXT", "ST_LINESTRINGFROMWKB", "ST_NUMGEOMETRIES", "ST_NUMINTERIORRINGS",
        "ST_NUMPOINTS", "ST_OVERLAPS", "ST_POINTFROMTEXT", "ST_POINTFROMWKB", "ST_POINTN",
        "ST_POLYFROMTEXT", "ST_POLYFROMWKB", "ST_POLYGONFROMTEXT", "ST_POLYGONFROMWKB", "ST_SRID",
        "ST_STARTPOINT", "ST_SYMDIFFERENCE", "ST_TOUCHES", "ST_UNION", "ST_WITHIN", "ST_X", "ST_Y",
    ] },
    Group { mariadb: Some((10, 2, 4)), mysql: Some((5, 7, 5)), until: None, adjacent: false, names: &[
        "ST_ASGEOJSON", "ST_GEOMFROMGEOJSON",
    ] },
    Group { mariadb: Some((10, 6, 0)), mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "ST_DISTANCE_SPHERE",
    ] },
    // MariaDB under the old names, which MySQL 8 dropped.
    Group { mariadb: Some((0, 0, 0)), mysql: None, until: None, adjacent: false, names: &[
        "AREA", "ASBINARY", "ASTEXT", "ASWKB", "ASWKT", "BOUNDARY", "BUFFER", "CENTROID",
        "CONVEXHULL", "CROSSES", "DIMENSION", "DISJOINT", "ENDPOINT", "ENVELOPE", "EQUALS",
        "EXTERIORRING", "GEOMCOLLFROMTEXT", "GEOMCOLLFROMWKB", "GEOMETRYCOLLECTIONFROMTEXT",
        "GEOMETRYCOLLECTIONFROMWKB", "GEOMETRYFROMTEXT", "GEOMETRYFROMWKB", "GEOMETRYN",
        "GEOMETRYTYPE", "GEOMFROMTEXT", "GEOMFROMWKB", "GLENGTH", "INTERIORRINGN", "INTERSECTS",
        "ISCLOSED", "ISEMPTY", "ISRING", "ISSIMPLE", "LINEFROMTEXT", "LINEFROMWKB",
        "LINESTRINGFROMTEXT", "LINESTRINGFROMWKB", "MBREQUAL", "MLINEFROMTEXT", "MLINEFROMWKB",
        "MPOINTFROMTEXT", "MPOINTFROMWKB", "MPOLYFROMTEXT", "MPOLYFROMWKB",
        "MULTILINESTRINGFROMTEXT", "MULTILINESTRINGFROMWKB", "MULTIPOINTFROMTEXT",
        "MULTIPOINTFROMWKB", "MULTIPOLYGONFROMTEXT", "MULTIPOLYGONFROMWKB", "NUMGEOMETRIES",
        "NUMINTERIORRINGS", "NUMPOINTS", "POINTFROMTEXT", "POINTFROMWKB", "POINTN",
        "POINTONSURFACE", "POLYFROMTEXT", "POLYFROMWKB", "POLYGONFROMTEXT", "POLYGONFROMWKB",
        "SRID", "STARTPOINT", "ST_BOUNDARY", "ST_ISRING", "ST_POINTONSURFACE", "ST_RELATE",
        "TOUCHES", "WITHIN", "X", "Y",
    ] },
    Group { mariadb: Some((0, 0, 0)), mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "ST_MLINEFROMTEXT", "ST_MLINEFROMWKB", "ST_MPOINTFROMTEXT", "ST_MPOINTFROMWKB",
        "ST_MPOLYFROMTEXT", "ST_MPOLYFROMWKB", "ST_MULTILINESTRINGFROMTEXT",
        "ST_MULTILINESTRINGFROMWKB", "ST_MULTIPOINTFROMTEXT", "ST_MULTIPOINTFROMWKB",
        "ST_MULTIPOLYGONFROMTEXT", "ST_MULTIPOLYGONFROMWKB",
    ] },
    // MySQL alone.
    Group { mariadb: None, mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "MBRCOVEREDBY", "MBRCOVERS", "ST_BUFFER_STRATEGY", "ST_MAKEENVELOPE",
    ] },
    Group { mariadb: Some((10, 11, 0)), mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "MBREQUALS",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 11)), until: None, adjacent: false, names: &[
        "GEOMCOLLECTION", "ST_GEOMCOLLFROMTXT", "ST_NUMINTERIORRING",
    ] },
    // Geohashes and validity, late on MariaDB.
    Group { mariadb: Some((12, 1, 0)), mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "ST_GEOHASH", "ST_ISVALID", "ST_LATFROMGEOHASH", "ST_LONGFROMGEOHASH",
        "ST_POINTFROMGEOHASH", "ST_SIMPLIFY", "ST_VALIDATE",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 13)), until: None, adjacent: false, names: &[
        "ST_LATITUDE", "ST_LONGITUDE", "ST_SWAPXY", "ST_TRANSFORM",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 23)), until: None, adjacent: false, names: &[
        "ST_FRECHETDISTANCE", "ST_HAUSDORFFDISTANCE",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 24)), until: None, adjacent: false, names: &[
        "ST_LINEINTERPOLATEPOINT", "ST_LINEINTERPOLATEPOINTS", "ST_POINTATDISTANCE",
    ] },
    Group { mariadb: Some((12, 1, 0)), mysql: Some((8, 0, 24)), until: None, adjacent: true, names: &[
        "ST_COLLECT",
    ] },
];

/// The first version of a server that has something; `None` where none has.
pub(super) type Since = Option<(u16, u16, u16)>;

/// Names that came with the same versions.
pub(super) struct Group {
    pub(super) mariadb: Since,
    pub(super) mysql: Since,
    /// The first MySQL without them; a stored function can have the name there.
    pub(super) until: Since,
    /// A keyword only where the parenthesis follows without space; with space
    /// between, the server looks for a stored function of that name.
    pub(super) adjacent: bool,
    /// Sorted, in upper case.
    pub(super) names: &'static [&'static str],
}

impl Group {
    /// True if that server has its names.
    pub(super) fn on(&self, dialect: &Dialect) -> bool {
        let (since, until) = if dialect.mariadb {
            (self.mariadb, None)
        } else {
            (self.mysql, self.until)
        };
        since.is_some_and(|since| dialect.version >= since)
            && until.is_none_or(|until| dialect.version < until)
    }
}
