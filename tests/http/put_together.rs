//! One script and one style a page, made at build time from the modules.

use crate::pages::{Files, put_together};
use crate::script::{shorten, strip};

const PAGE: &str = "<link rel=\"stylesheet\" href=\"/assets/@/a.css\">\n\
    <link rel=\"stylesheet\" href=\"/assets/@/p/b.css\">\n\
    <link rel=\"modulepreload\" href=\"/assets/@/p/one.js\">\n\
    <script type=\"module\" src=\"/assets/@/p/app.js\"></script>\n";

fn files(list: &[(&str, &str)]) -> Files {
    let list = [
        ("p/index.html", PAGE),
        ("a.css", "a {\n  b: c;\n}\n"),
        ("p/b.css", "/* d */ e {}\n"),
    ]
    .iter()
    .chain(list);
    list.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn made(list: &[(&str, &str)]) -> Files {
    put_together(files(list)).unwrap()
}

fn refused(list: &[(&str, &str)]) -> String {
    put_together(files(list)).unwrap_err()
}

fn text(files: &Files, path: &str) -> String {
    String::from_utf8(files[path].clone()).unwrap()
}

#[test]
fn comments_and_indentation_go_and_texts_stay() {
    let source = "/** doc */\nconst a = '// no';  // yes\n\n  const b = \"/* no */\"; /* yes */\n\
        const c = `\n  // no ${d /* yes */ + `}`}\n`;\nconst e = f / g; // yes /\n\
        const h = /[/'\"]\\/ \\/\\//u.test(i) ? 1 / 2 : (3) / 4;\nreturn /'/;\n";
    let expected = "const a = '// no';\nconst b = \"/* no */\";\n\
        const c = `\n  // no ${d + `}`}\n`;\nconst e = f / g;\n\
        const h = /[/'\"]\\/ \\/\\//u.test(i) ? 1 / 2 : (3) / 4;\nreturn /'/;\n";
    assert_eq!(strip(source).unwrap(), expected);
    for broken in ["'a", "`a", "`${a`", "a = /b", "/* a", "{", "}"] {
        assert!(strip(broken).is_err(), "{broken}");
    }
}

#[test]
fn blanks_that_say_nothing_go_and_private_names_become_short() {
    let source = "class A {\n#long = `#long ${ this.#other + + 1 } , `; #other = { a: ' #long ; ' };\n\
        get #third() { return #long in this ? this.#long / 2 : / #x , /u.test(b) || typeof c; }\n}\n";
    let expected = "class A{\n#a=`#long ${this.#b + + 1} , `;#b={a:' #long ; '};\n\
        get #c(){return #a in this?this.#a / 2: / #x , /u.test(b)||typeof c;}\n}\n";
    assert_eq!(shorten(source).unwrap(), expected);
}

#[test]
fn a_page_becomes_one_script_and_one_style() {
    let made = made(&[
        (
            "p/app.js",
            "import { one as first } from './one.js';\nimport * as two from '../two.js';\nimport './side.js';\nfirst(two.x, '/assets');\n",
        ),
        (
            "p/one.js",
            "import { x } from '../two.js';\nexport function one() { return x; }\nconst y = 1;\nexport { y as z };\n",
        ),
        ("p/side.js", "console.log(1);\n"),
        ("two.js", "export { deep as x } from './three.js';\n"),
        (
            "three.js",
            "export const deep = new URL('./icon.svg', import.meta.url);\n",
        ),
        ("icon.svg", "<svg/>"),
        ("lonely.js", "1; // kept: no page begins with it\n"),
    ]);
    let paths: Vec<&str> = made.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "icon.svg",
            "lonely.js",
            "p/app.js",
            "p/index.css",
            "p/index.html"
        ]
    );
    assert_eq!(text(&made, "p/index.css"), "a {\nb: c;\n}\ne {}\n");
    assert_eq!(
        text(&made, "p/index.html"),
        "<link rel=\"stylesheet\" href=\"/assets/@/p/index.css\">\n\
         <script type=\"module\" src=\"/assets/@/p/app.js\"></script>\n"
    );
    assert_eq!(
        text(&made, "p/app.js"),
        "const m0=(()=>{\nconst deep=new URL('../icon.svg',import.meta.url);\nreturn{deep};\n})();\n\
         const m1=(()=>{\nreturn{x:m0.deep};\n})();\n\
         const m2=(()=>{\nconst{x}=m1;\nfunction one(){return x;}\nconst y=1;\nreturn{one,z:y};\n})();\n\
         const m3=(()=>{\nconsole.log(1);\nreturn{};\n})();\n\
         const m4=(()=>{\nconst{one:first}=m2;\nconst two=m1;\nfirst(two.x,'/assets');\nreturn{};\n})();\n"
    );
}

/// Modules that two later scripts need, and the first script does not have, become a script of their own. Modules of
/// the first script are taken from there.
#[test]
fn what_is_loaded_later_shares_what_is_there() {
    let made = made(&[
        (
            "p/app.js",
            "import { a } from './a.js';\na(() => import('./b.js'), () => import('./c.js'));\n",
        ),
        ("p/a.js", "export const a = 1;\n"),
        (
            "p/b.js",
            "import { a } from './a.js';\nimport { d } from './d.js';\nexport const b = a + d;\n",
        ),
        (
            "p/c.js",
            "import { d } from './d.js';\nimport { own } from './own.js';\nexport class c { e = d + own; }\n",
        ),
        ("p/d.js", "export const d = 2;\n"),
        ("p/own.js", "export const own = 3;\n"),
    ]);
    let scripts: Vec<&str> = made
        .keys()
        .map(String::as_str)
        .filter(|path| path.ends_with(".js"))
        .collect();
    assert_eq!(scripts, ["p/app.js", "p/b.js", "p/c.js", "p/d.js"]);
    let app = text(&made, "p/app.js");
    assert!(
        app.contains("import('./b.js')") && app.ends_with("export{m0};\n"),
        "{app}"
    );
    let later = text(&made, "p/b.js");
    assert!(
        later.starts_with("import{m0}from './app.js';\nimport{m2}from './d.js';\n"),
        "{later}"
    );
    assert!(later.ends_with("export const{b}=m3;\n"), "{later}");
    assert!(text(&made, "p/d.js").ends_with("export{m2};\n"));
    assert!(!text(&made, "p/c.js").contains("app.js"));
}

#[test]
fn the_build_fails_where_a_page_could_not_work() {
    for (list, word) in [
        (
            &[("p/app.js", "import { a } from './none.js';\n")][..],
            "p/none.js is missing",
        ),
        (&[("p/app.js", "export let a = 1;\n")], "not understood"),
        (
            &[
                ("p/app.js", "import { a } from './b.js';\n"),
                ("p/b.js", "export const b = 1;\n"),
            ],
            "exports no 'a'",
        ),
        (
            &[
                ("p/app.js", "import './b.js';\n"),
                ("p/b.js", "import './app.js';\n"),
            ],
            "imports itself",
        ),
        (
            &[
                ("p/app.js", "import './b.js';\nimport('./b.js');\n"),
                ("p/b.js", "\n"),
            ],
            "loaded later",
        ),
        (&[("p/app.js", "const a = 'b;\n")], "does not end"),
    ] {
        let error = refused(list);
        assert!(error.contains(word), "{error}");
    }
}
