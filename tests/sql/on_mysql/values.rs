//! Values of types that MySQL alone has, or shows in its own way.

use serde_json::json;

use crate::on_mysql::database;
use support::Postern;

#[test]
fn vectors_json_and_geometries_come_as_they_are() {
    let db = database(
        "my_values",
        "CREATE TABLE t (id INT PRIMARY KEY, v VECTOR(3), j JSON, g GEOMETRY); \
         INSERT INTO t VALUES (1, TO_VECTOR('[1,2.5,-3e-8]'), \
         '{\"b\":1,\"a\":[1,{\"\u{fc}\":\"\u{1f600}\"}],\"n\":12345678901234567890}', ST_GeomFromText('POINT(1 2)', 4326)), \
         (2, NULL, 'null', NULL), (3, TO_VECTOR('[0,0,0]'), '\"text\"', NULL)",
    );
    let postern = Postern::on(db, &["--readonly"]);
    let data = postern
        .client()
        .query_ok("my_values", "SELECT * FROM t ORDER BY id");
    assert_eq!(data["types"], json!(["INT", "VECTOR", "JSON", "GEOMETRY"]));
    assert_eq!(
        data["rows"][0],
        json!({
            "id": 1,
            "v": "0x0000803F0000204059D900B3",
            "j": "{\"a\": [1, {\"\u{fc}\": \"\u{1f600}\"}], \"b\": 1, \"n\": 12345678901234567890}",
            // The axes of SRID 4326 are latitude and longitude, its bytes are in the order of the plane.
            "g": "0xE610000001010000000000000000000040000000000000F03F",
        })
    );
    assert_eq!(
        data["rows"][1],
        json!({"id": 2, "v": null, "j": "null", "g": null})
    );
    assert_eq!(data["rows"][2]["j"], "\"text\"");
    // Values computed from them have types of their own.
    let made = postern.client().query_ok(
        "my_values",
        "SELECT FROM_VECTOR(v) AS a, VECTOR_DIM(v) AS b, j->'$.b' AS c, j->>'$.b' AS d, ST_AsText(g) AS e FROM t WHERE id = 1",
    );
    assert_eq!(
        made["rows"][0],
        json!({"a": "[1.00000e+00,2.50000e+00,-3.00000e-08]", "b": 3, "c": "1", "d": "1", "e": "POINT(1 2)"})
    );
    assert_eq!(made["types"][2], "JSON");
}
