//! Script functions beyond those of Rhai.

use hero::model::{ErrorKind, Limit, LogLevel};

use super::{Bench, settings};

#[tokio::test]
async fn lists_numbers_json_and_the_time_have_functions() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        ("[1, \"a\", 'b', 2.5, #{x: [()]}].join(\", \")", "1, a, b, 2.5, #{\"x\": [()]}"),
        ("[].join(\"-\")", ""),
        ("\"a,b\".split(\",\").join(\"\\n\")", "a\nb"),
        ("[3.14159.to_fixed(2), 2.0.to_fixed(0), 5.to_fixed(2), 5.to_fixed(0), 1.0.to_fixed(-1)].join(\" \")", "3.14 2 5.00 5 1"),
        ("2.71828.round(3)", "2.718"),
        ("[1.5, true, (), \"é\\\"\", [#{}]].to_json()", r#"[1.5,true,null,"é\"",[{}]]"#),
        ("#{a: 1}.to_json() + 5.to_json() + to_json(\"x\") + to_json(())", r#"{"a":1}5"x"null"#),
        ("parse_json(`[1, {\"a\": null}, 2.0]`)", r#"[1,{"a":null},2.0]"#),
        ("parse_json(\" 5 \") + parse_json(`{\"a\": [7]}`).a[0]", "12"),
        ("let v = #{n: [1, 2.5, \"x\"]}; parse_json(v.to_json()) == v", "true"),
        ("fn f() { now() } f().len() >= 20 && now().contains(\"T\") && now_ms() > 1600000000000", "true"),
        ("let t = now_ms(); sleep(0.01); now_ms() - t >= 10", "true"),
        ("let r = 0; try { parse_json(\"{\") } catch (e) { r = `${e}`.len(); } r > 10", "true"),
    ] {
        assert_eq!(bench.text(script).await, text, "{script}");
    }
    bench.text("log_debug(\"d\"); log_debug([1])").await;
    assert!(bench.log.0.iter().all(|line| line.level == LogLevel::Debug) && bench.log.texts() == ["d", "[1]"]);
}

#[tokio::test]
async fn json_that_scripts_cannot_hold_is_refused_with_its_place() {
    let mut bench = Bench::start().await;
    for (script, word) in [
        ("parse_json(`{\"a\": [1, 99999999999999999999]}`)", "the JSON.a[1] is 99999999999999999999, beyond the integers of scripts"),
        ("parse_json(\"9223372036854775808\")", "the JSON is 9223372036854775808, beyond"),
        ("parse_json(\"[1,]\")", "the text is not JSON: trailing comma at line 1 column 4"),
        ("let s = \"\"; s.pad(200, '['); parse_json(s)", "the text is not JSON: recursion limit exceeded"),
        ("[|x| x].to_json()", "the value holds a closure, which JSON can't say"),
        ("timestamp().to_json()", "the value holds a value of type timestamp"),
    ] {
        let error = bench.error(script).await;
        assert_eq!((error.kind, error.line), (ErrorKind::Script, Some(1)), "{script}");
        assert!(error.message.contains(word), "{script}: {}", error.message);
    }
}

#[tokio::test]
async fn their_results_keep_the_limits() {
    let mut settings = settings();
    settings.limits.operations = Some(1_000_000);
    let mut bench = Bench::with(settings).await;
    let large = "let s = \"x\"; s.pad(200000, 'x'); let a = []; a.pad(9000, s);";
    for use_of_it in ["a.join(s)", "a.to_json()", "[[a]].to_json()", "to_json(#{a: a})"] {
        bench.hits(Limit::Memory, &format!("{large} {use_of_it}; 1")).await;
    }
    let long = "let s = `[1`; for i in 0..59_999 { s += `,1`; } parse_json(s + `]`).len()";
    assert_eq!(bench.text(long).await, "60000");
    assert_eq!(bench.text("1.5.to_fixed(9223372036854775807).len() + 1.to_fixed(-9223372036854775808).len()").await, "20");
}

#[tokio::test]
async fn what_newcomers_write_is_answered_with_what_to_write() {
    let mut bench = Bench::start().await;
    for (script, word) in [
        ("let s = 'hello'", "double quotes"),
        ("var x = 1", "let"),
        ("null", "nothing is written ()"),
        ("[1].concat(\"x\")", "concat (array, string)"),
        ("args.missing.name", "`?.` passes over"),
        ("const L = [1]; L.push(2)", "let mine"),
        ("let a = [1]; a.retain(|x| x > a.len())", "copy what the closure needs first"),
    ] {
        let message = bench.error(script).await.message;
        assert!(message.contains(word), "{script}: {message}");
    }
}

#[tokio::test]
async fn texts_and_lists_have_functions_that_give_new_ones() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        (
            "[\"x\".pad_start(4, \"ab\"), \"x\".pad_end(4, \"ab\"), \"long\".pad_start(2), \"é\".pad_start(2, \"-\"), \"x\".pad_start(3, \"\")].join(\" \")",
            "abax xaba long -é x",
        ),
        ("[(-5).pad_start(3, \"0\"), true.pad_end(5, \".\"), \"x\".pad_start(-1)].join(\" \")", "0-5 true. x"),
        ("dedent(\"  a\\n\\n    b\\n \\n  c\")", "a\n\n  b\n\nc"),
        ("dedent(\"\\ta\\n  b\") + dedent(\"\")", "\ta\n  b"),
        ("prefix(\"a\\n\\nb\", \"# \")", "# a\n# \n# b"),
        ("template(\"{{a}}-{{ b.c }}-{{a}}\", #{a: 1, b: #{c: [2, \"x\"]}}) + template(\"\", #{})", "1-[2, \"x\"]-1"),
        (
            "[[].sum(), [9223372036854775807, 1, -1].sum() == 9223372036854775807, [1, 2].sum(), [1, 0.5].sum(), [9223372036854775807, 0.0].sum() > 9e18].to_json()",
            "[0,true,3,1.5,true]",
        ),
        ("path_fix(\"/a/\") + \" \" + path_fix(\"My File\") + \" \" + name_fix(\"--é--\")", "/a/ my_file _"),
    ] {
        assert_eq!(bench.text(script).await, text, "{script}");
    }
}

#[tokio::test]
async fn regular_expressions_find_split_and_replace() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        ("[regex_is_match(`Größe`, `^\\w+$`), regex_find(`abc`, `x`), regex_find_all(`abc`, `x`)].to_json()", "[true,null,[]]"),
        ("regex_captures(`ab`, `(a)|(b)`).to_json()", r#"{"0":"a","1":"a","2":null}"#),
        ("regex_captures(`b`, `a`) == ()", "true"),
        ("regex_replace(`a-b`, `(?<first>\\w)-(\\w)`, \"$2${first}$$\")", "ba$"),
        ("regex_replace(`abc`, ``, `.`)", ".a.b.c."),
        ("regex_split(`a1b22c`, `\\d+`).join(`,`)", "a,b,c"),
        ("let n = 0; for i in 0..3000 { if regex_is_match(`x${i}`, `^x\\d*7$`) { n += 1; } } n", "300"),
    ] {
        assert_eq!(bench.text(script).await, text, "{script}");
    }
}

#[tokio::test]
async fn times_are_read_and_written_in_any_form_and_zone() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        ("parse_time(`2026-01-31T13:30:00+01:00`) == parse_time(`2026-01-31T12:30:00Z`)", "true"),
        ("parse_time(`31/01/26`, `%d/%m/%y`) == parse_time(`2026-01-31`)", "true"),
        ("parse_time(`2026-01-31 12:00 +0200`, `%Y-%m-%d %H:%M %z`) == parse_time(`2026-01-31T10:00:00Z`)", "true"),
        ("format_time(1769866200000, `%A %e %B, %H:%M %Z`, `America/New_York`)", "Saturday 31 January, 08:30 EST"),
        (
            "[parse_duration(`1.5h`), parse_duration(`250ms`), parse_duration(`1w2d`), parse_duration(` 2 m  5s `)].to_json()",
            "[5400000,250,777600000,125000]",
        ),
        ("[format_duration(0), format_duration(3_600_000), format_duration(59_999)].join(`;`)", "0s;1h;59s 999ms"),
    ] {
        assert_eq!(bench.text(script).await, text, "{script}");
    }
}

#[tokio::test]
async fn bytes_are_encoded_and_hashed() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        ("base64_encode(base64_decode_blob(`_-8`)) + base64_decode(`w6k=`) + base64_encode(``)", "/+8=é"),
        ("let s = ``; s.pad(20_000, `x`); base64_decode(base64_encode(s)) == s", "true"),
        ("sha256(``)", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("sha512(blob(3, 97)) == sha512(`aaa`) && sha256(blob(0)) == sha256(``)", "true"),
        ("let a = uuid(); a != uuid() && a.len() == 36 && regex_is_match(a, `^[0-9a-f-]{13}-4`)", "true"),
        ("let seen = #{}; for i in 0..500 { seen[`${random_int(-1, 1)}`] = true; } seen.keys().len()", "3"),
        ("random_int(-9223372036854775807 - 1, 9223372036854775807) != random_int(-9223372036854775807 - 1, 9223372036854775807)", "true"),
        ("[].random_item() == () && [7].random_item() == 7", "true"),
    ] {
        assert_eq!(bench.text(script).await, text, "{script}");
    }
}

#[tokio::test]
async fn what_a_function_cannot_do_is_an_error_that_says_why_and_can_be_caught() {
    let mut bench = Bench::start().await;
    for (script, word) in [
        ("[1, `x`].sum()", "element 1 of the array is no number"),
        ("[9223372036854775807, 1].sum()", "beyond the integers of 64 bits"),
        ("template(\"a\\n{{ b.c }}\", #{ b: 1 })", "{{b.c}} in line 2, and there is no such value"),
        ("template(\"{{a\", #{ a: 1 })", "a {{ without }} in line 1"),
        ("regex_find(`a`, `(`)", "the pattern is wrong: unclosed group, at character 1"),
        ("regex_find(`a`, `\\w{1000}{1000}`)", "the pattern is wrong: Compiled regex exceeds size limit"),
        ("let p = ``; p.pad(5_000, `a`); regex_find(`a`, p)", "the pattern is too large: it has 5000 bytes"),
        ("parse_time(`2026-01-31 03:30`, `%Y-%m-%d %I:%M`)", "is no time of the form"),
        ("parse_time(`12:00 EST`, `%H:%M %Z`)", "use %z"),
        ("parse_time(`today`)", "\"today\" is no time such as 2026-01-31T12:00:00Z"),
        ("parse_time(`31.12.`, `%d.%m.`)", "is no time of the form \"%d.%m.\""),
        ("parse_time(`x`, `%!`)", "\"%!\" is no format of times"),
        ("format_time(0, `%!`)", "\"%!\" is no format of times"),
        ("format_time(0, `%Y`, `Europe/Atlantis`)", "there is no time zone \"Europe/Atlantis\""),
        ("format_time(9223372036854775807)", "a year of more than six digits"),
        ("parse_duration(`5`)", "\"5\" is no duration such as 1h 30m"),
        ("parse_duration(`5 minutes`)", "units are ms, s, m, h, d and w"),
        ("parse_duration(``)", "\"\" is no duration"),
        ("parse_duration(`999999999999999999999w`)", "beyond the integers of 64 bits"),
        ("format_duration(-1)", "-1 is negative"),
        ("to_fixed(`1`, 2)", "a string is no number"),
        ("[1.5, parse_decimal(`1`)].sum()", "floats and decimal numbers are not added up"),
        ("base64_decode(`a`)", "the text is no base64"),
        ("base64_decode(`/w==`)", "base64_decode_blob reads them"),
        ("random_int(2, 1)", "2 is more than 1"),
        ("parse_decimal(`1.5707963267948966192313216916`).tan()", "is beyond decimal numbers"),
    ] {
        let error = bench.error(script).await;
        assert_eq!(error.kind, ErrorKind::Script, "{script}");
        assert!(error.message.contains(word), "{script}: {}", error.message);
        let caught = format!("let caught = false; try {{ {script} }} catch {{ caught = true; }} caught");
        assert_eq!(bench.text(&caught).await, "true", "{script}");
    }
}

#[tokio::test]
async fn no_function_makes_more_than_values_may_hold() {
    let mut bench = Bench::start().await;
    for (script, limit) in [
        ("`x`.pad_start(9223372036854775807)", Limit::Memory),
        ("`x`.pad_end(300_000, `é`)", Limit::Memory),
        (
            "let line = `x\n`; let text = ``; for i in 0..9_000 { text += line; } prefix(text, `0123456789012345678901234567890123456789`)",
            Limit::Memory,
        ),
        ("let big = ``; big.pad(200_000, `x`); template(`{{a}}{{a}}`, #{ a: big })", Limit::Memory),
        ("let big = ``; big.pad(200_000, `x`); base64_encode(big)", Limit::Memory),
        ("let big = ``; big.pad(70_000, `x`); regex_find_all(big, `x`)", Limit::Memory),
        ("let big = ``; big.pad(70_000, `x`); regex_split(big, `x`)", Limit::Memory),
        ("let big = ``; big.pad(20_000, `x`); regex_replace(big, `x`, `0123456789abcdef`)", Limit::Memory),
        // One replacement that would have gigabytes.
        ("let big = ``; big.pad(250_000, `x`); let by = ``; by.pad(250_000, \"$0\"); regex_replace(big, `x+`, by)", Limit::Memory),
        ("let sep = ``; sep.pad(200_000, `,`); 1234567890.format_number(0, sep)", Limit::Memory),
    ] {
        let error = bench.error(script).await;
        assert_eq!((error.kind, error.limit), (ErrorKind::Limit, Some(limit)), "{script}: {}", error.message);
    }
}

#[tokio::test]
async fn decimal_numbers_are_exact() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        ("parse_decimal(`0.10`) + parse_decimal(`0.20`)", "0.30"),
        ("[parse_decimal(`0.1`), parse_decimal(`0.2`), 3].sum()", "3.3"),
        ("[parse_decimal(`12345678901234567890.12`)].to_json()", "[12345678901234567890.12]"),
        (
            "let sum = parse_decimal(`1234.565`); [sum.to_fixed(2), sum.format_number(1), sum.round(2).to_string()].join(` `)",
            "1234.56 1,234.6 1234.56",
        ),
        ("[0.25.to_fixed(1), parse_decimal(`0.25`).to_fixed(1), 2.to_decimal().to_fixed(20)].join(` `)", "0.2 0.2 2.00000000000000000000"),
        (
            "[(-1234567).format_number(0), (0.0 / 0.0).format_number(2), (-1.0 / 0.0).to_fixed(1), 1e20.format_number(0)].join(` `)",
            "-1,234,567 NaN -inf 100,000,000,000,000,000,000",
        ),
        ("`${parse_decimal(`1.50`)}`", "1.50"),
        ("parse_decimal(`1234567890123456.5`).to_fixed(28)", "1234567890123456.5000000000000000000000000000"),
        ("[(-0.001).to_fixed(2), parse_decimal(`-0.001`).to_fixed(2), (-0.5).to_fixed(0), (-1.5).to_fixed(0)].join(` `)", "0.00 0.00 0 -2"),
    ] {
        assert_eq!(bench.text(script).await, text, "{script}");
    }
}

#[tokio::test]
async fn padding_pads_and_ends() {
    let mut bench = Bench::start().await;
    for (script, padded) in [
        ("let s = `a`; s.pad(10, ``); s", "a"),
        ("let s = `a`; s.pad(6, `xyz`); s", "axyzxy"),
        ("let s = `aé`; s.pad(5, `éü`); s", "aééüé"),
        ("let s = `abc`; s.pad(2, `x`); s.pad(-1, `x`); s", "abc"),
        ("let a = [1]; a.pad(3, [0]); a", "[1,[0],[0]]"),
        ("let a = [1, 2]; a.pad(1, 0); a.pad(-9223372036854775807, 0); a", "[1,2]"),
        ("fn g(x) { x } let v = []; v.pad(9000, 1); let f = Fn(`g`).curry(v); let a = []; a.pad(10, f); a.len()", "10"),
    ] {
        assert_eq!(bench.text(script).await, padded, "{script}");
    }
}

#[tokio::test]
async fn replace_still_replaces() {
    let mut bench = Bench::start().await;
    assert_eq!(
        bench
            .text("let s = \"hello\"; s.replace(\"l\", \"LL\"); s.replace('h', 'H'); s.replace(\"o\", '0'); s.replace('e', \"\"); s")
            .await,
        "HLLLL0"
    );
    assert!(bench.error("const S = \"abc\"; S.replace('a', 'b')").await.message.contains("constant"));
}
