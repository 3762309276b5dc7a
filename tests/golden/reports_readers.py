"""Reports of readers of data: quotes, ends of lines, headers, missing values, integers and reals as text, JSON."""

import math

import mpmath
import numpy as np

from reports_table import report

PANDAS = "pandas-dev/pandas"
POLARS = "pola-rs/polars"
CUDF = "NVIDIA/cudf"
DUCKDB = "duckdb/duckdb"
CSVJL = "JuliaData/CSV.jl"
DATATABLE = "Rdatatable/data.table"

NAN = float("nan")
INF = float("inf")
REFUSED = {"error": "E0604"}  # the text's content does not fit the type
MALFORMED = {"error": "E0603"}  # the text is not of the format

with mpmath.workdps(800):
    LONG_PI = mpmath.nstr(+mpmath.pi, 790)


def table(tracker, number, situation, columns, text, expr, value, options="", **more):
    """Registers a report about comma-separated values: `expr` of the record `t` of the named columns."""
    report(tracker, number, situation, expr, value, files={"a.csv": text},
           definitions=f'let t: {columns} = load("a.csv"{options})', **more)


def json(tracker, number, situation, kind, text, expr, value, **more):
    """Registers a report about a JSON text: `expr` of the value `t` of the type `kind`."""
    report(tracker, number, situation, expr, value, files={"a.json": text},
           definitions=f'let t: {kind} = load("a.json")', **more)


# Quotes.

table(PANDAS, 41819, "a cell of JSON between doubled quotes and separators: the number after it stays in its column",
      "{n: [?n]i64}", 'id,json,n\n1,"[{""a"":""b"",""c"":""""}]",12\n2,"",-3\n3,"""",4\n', "t.n", [12, -3, 4])
table(POLARS, 1528, "a quote in the middle of a cell that is not quoted: refused", "{n: [?n]i64, k: [?n]i64}",
      'n,name,k\n1,Ja,10\n2,O"Br,20\n3,L"Et"o,30\n4,W,40\n', "(t.n, t.k)", MALFORMED)
table(CUDF, 2398, "a cell that ends with a quote and did not begin with one: refused, where it must not hide lines", "{a: [?n]i64, c: [?n]i64}",
      'a,b,c\n1,/images",500\n4,/x,200\n5,y",7\n', "(t.a, t.c)", MALFORMED)
table(POLARS, 5906, "cells that are all quoted, with ends of lines in texts and an empty number", "{k: [?n]i64, x: [?n]f64}",
      '"k"|"text"|"x"\n"0"|"two\nlines"|"123"\n"1"|"one | line"|""\n"2"|"\n\n"|"-4.5"\n', "(t.k, t.x)",
      [[0, 1, 2], [123.0, NAN, -4.5]], options=', separator: "|"')
table("SciNim/Datamancer", 58, "numbers in quotes, with blanks and leading zeros", "{one: [?n]i64, two: [?n]f64}",
      '"one","two"\n"007","-1.50"\n"-0","1e3"\n', "(t.one, t.two)", [[7, 0], [-1.5, 1000.0]])
table(POLARS, 2499, "truth values in quotes beside integers in quotes", "{a: [?n]i64, b: [?n]bool}",
      'a,b\n"4","false"\n"5","true"\n6,false\n', "(t.a, t.b)", [[4, 5, 6], [False, True, False]])
table("JuliaLang/julia", 6392, "a quoted cell before the end of a line in CRLF", "{a: [?n]i64, b: [?n]i64}",
      'a,b\r\n1,"2"\r\n"3","4"\r\n', "(t.a, t.b)", [[1, 3], [2, 4]])

# Line ends, and empty lines and fields.

table(PANDAS, 10911, "lines that end in CR, with other ends of lines in quoted cells", "{b: [?n]i64, c: [?n]i64}",
      'a,b,c\r"x\ny",2,3\r"p\r\nq\rr",12,13\r', "(t.b, t.c)", [[2, 12], [3, 13]])
table("cnuernber/charred", 5, "the last line ends in CR", "{header: [?n]i64}", "header\r1\r", "t.header", [1])
table(CSVJL, 447, "empty lines at the end are no rows", "{a: [?n]i64, c: [?n]f64}", "a,b,c\n1,2,3\n4,5,6\n\n\n", "(t.a, t.c)",
      [[1, 4], [3.0, 6.0]])
table(CSVJL, 566, "a matrix whose rows end in CRLF and in LF by turns", "[?n, ?m]i64", "1\t2\t3\r\n4\t5\t6\n7\t8\t9\r\n", "t",
      [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
table(CSVJL, 120, "blanks between cells, and behind the last", "[?n, 2]f64", "3593669378.087130 1.743859e0 \n3593669378.187050   1.5e-1 \n",
      "t", [[3593669378.08713, 1.743859], [3593669378.18705, 0.15]], options=', separator: " "')
table(CUDF, 1826, "a column without any value", "{a: [?n]f64, b: [?n]i64}", "a,b\n,1\n,2\n", "(t.a, t.b)", [[NAN, NAN], [1, 2]])
table(DUCKDB, 25827, "a row longer than the header: refused, where earlier rows must not be dropped", "{a: [?n]i64}",
      "a,b\n1,2\n3,4\n5,6,7\n8,9,10\n", "t.a", MALFORMED)
table(DUCKDB, 9343, "a row shorter than the header: refused, where one column must not be guessed", "{one: [?n]i64}",
      "one,two,three\n1,2,3\n4,5\n6,7,8\n", "t.one", MALFORMED)

# Headers.

BOM = "\ufeff"
table("Clever/csvlint", 37, "a byte order mark before a quoted name", "{first: [?n]i64, second: [?n]i64}",
      BOM + '"first","second"\n1,2\n', "(t.first, t.second)", [[1], [2]])
table("adaltas/node-csv-parse", 284, "a byte order mark before the name of the only column", "{X: [?n]i64}", BOM + "X\r\n1\r\n3\r\n", "t.X", [1, 3])
table("C2FO/fast-csv", 131, "a byte order mark before a number, without a header", "[?n, 2]i64", BOM + "1,2\n3,4\n", "t", [[1, 2], [3, 4]])
table("ruby/csv", 206, "a header with equal and with empty names: the matrix below it is whole", "[?n, ?m]i64",
      "dupe,dupe,,,regular\n1,2,3,4,5\n11,12,13,14,15\n", "t", [[1, 2, 3, 4, 5], [11, 12, 13, 14, 15]])
table(PANDAS, 14704, "a header of numbers, said to be one", "[?n, 4]f64", "0,-0.1,0,0.1\n10.0,123,456,789\n20.0,012,345,678\n", "t",
      [[10.0, 123.0, 456.0, 789.0], [20.0, 12.0, 345.0, 678.0]], options=", header: true")
table("JuliaData/DataFrames.jl", 2904, "a name in another normal form of Unicode than that of the program", "{größe: [?n]f64}",
      "gro\u0308ße,b\n1.5,1\n2.5,2\n", "t.größe", [1.5, 2.5])
table(DUCKDB, 1875, "names that are none in the language, two of which would be one",
      "{_2nd: [?n]i64, a_b: [?n]i64, a_b_1: [?n]i64}", "2nd,a-b,a b\n1,2,3\n", "(t._2nd, t.a_b, t.a_b_1)", [[1], [2], [3]])
table(CSVJL, 1162, "separators before the first and behind the last cell of every row", "{a: [?n]i64, b: [?n]i64}",
      ",a,b,\n,1,2,\n,3,4,\n", "(t.a, t.b)", [[1, 3], [2, 4]])
table(DUCKDB, 19578, "semicolons between cells, a decimal comma, and semicolons in a quoted cell", "{n: [?n]i64, count: [?n]f64}",
      'n;place;count\n1;"35.8;104.1";97100,7\n2;"1,5";-0,25\n', "(t.n, t.count)", [[1, 2], [97100.7, -0.25]],
      options=', separator: ";", decimal: ","')

# Comments.

table("cldf/csvw", 13, "a quoted cell that begins like a comment", "{n: [?n]i64}", 'name,n\n"#1",1\n#2,2\n"a # b",3\n', "t.n", [1, 3],
      options=', comment: "#"')
table("adaltas/node-csv-parse", 32, "comments with separators and with quotes that nothing closes", "{n: [?n]i64}",
      'name,n\n# a, b and "c\n"x",1\n# "d\ny,2\n', "t.n", [1, 2], options=', comment: "#"')

# Missing values.

table(DATATABLE, 488, "missing values among integers beyond 32 bits", "{x: [?n]f64}",
      "k,x\n1,\n2, \n3,NA\n4,3127133583\n5,154598\n", "t.x", [NAN, NAN, NAN, 3127133583.0, 154598.0])
table(DATATABLE, 2927, "zero as the word for a missing value: other numbers that hold a zero are there", "{a: [?n]f64}",
      "a,b\n0,1\n10,2\n0.5,3\n", "t.a", [NAN, 10.0, 0.5], options=', missing: "0"')
table(DATATABLE, 2697, "blanks around numbers, names and missing values", "{A: [?n]f64, B: [?n]f64, C: [?n]f64}",
      "A,   B,    C\n17,  34, 2.3\n3.0,  NA,   1\nNA ,  2, NA \n0,0.1,0\n", "(t.A, t.B, t.C)",
      [[17.0, 3.0, NAN, 0.0], [34.0, NAN, 2.0, 0.1], [2.3, 1.0, NAN, 0.0]])
table(PANDAS, 20591, "a truth value that is missing: refused", "{a: [?n]bool}", "a,b\nfalse,1\n,1\ntrue,2\n", "t.a", REFUSED)
table("wireservice/csvkit", 1020, "a column of zeros and ones is one of integers", "{core: [?n]i64}", "core,us\n0,60000011\n1,2\n", "t.core", [0, 1])
table("wireservice/csvkit", 849, "numbers where truth values are wanted: refused", "{a: [?n]bool}", "a,b\n1,2\n0,3\n", "t.a", REFUSED)
table("Swirrl/csv2rdf", 26, "truth values with capitals", "{p: [?n]bool}", "p,q\nTrue,1\nFalse,2\ntrue,3\n", "t.p", [True, False, True])

# Numbers as text.

table(POLARS, 5819, "an exponent without a sign behind a whole mantissa, in reals and in integers", "{a: [?n]f64, b: [?n]i64}",
      "a,b\n-1e1,-1e1\n0e1,0e0\n3000e-3,3000e-3\n", "(t.a, t.b)", [[-10.0, 0.0, 3.0], [-10, 0, 3]])
table(POLARS, 1973, "reals without a digit before the point", "{bar: [?n]f64}", "foo,bar\n10000001,1e-5\n10000002,.04\n10000003,-.5\n", "t.bar",
      [1e-5, 0.04, -0.5])
table(CSVJL, 416, "reals without a digit behind the point", "{x: [?n]f64}", "k,x\n1,428.E+03\n2,5.\n", "t.x", [428000.0, 5.0])
table(CSVJL, 245, "a whole number with an exponent among integers", "{k: [?n]i64, x: [?n]f64}", "k;x\n1;0,5\n4e+05;1\n", "t.k", [1, 400000],
      options=', decimal: ","')
table(CUDF, 780, "short reals with exponents of all signs in one row", "[?n, 5]f32", "5.6;0.5679e2;1.2e10;0.07e1;3000e-3\n",
      "for j: f64(t[0, j])", lambda: [float(np.float32(v)) for v in (5.6, 56.79, 1.2e10, 0.7, 3.0)])
table(CUDF, 7088, "an integer above the greatest of 64 bits: refused where integers are wanted", "{a: [?n]i64}", "a,b\n1,2\n17758512297797920768,3\n",
      "t.a", REFUSED)
table(CUDF, 6313, "integers of 64 bits at both ends", "{a: [?n]i64}", "a,b\n9223372036854775807,1\n-9223372036854775808,2\n", "t.a",
      [2**63 - 1, -(2**63)])
table(CUDF, 6235, "the greatest real, and the greatest with its last digits rounded up", "{f: [?n]f64}",
      "f,g\n-1.7976931348623157e+308,1\n1.7976931348623158e+308,2\n2.2250738585072014e-308,3\n", "t.f",
      [-1.7976931348623157e308, 1.7976931348623157e308, 2.2250738585072014e-308])
table(CUDF, 1035, "reals of seventeen digits behind a name with a blank before it", "{lat: [?n]f64, long: [?n]f64}",
      "lat, long\n-74.0044707, 40.73777000000001\n-73.96674300000002, 40.764252\n", "(t.lat, t.long)",
      [[-74.0044707, -73.96674300000002], [40.73777000000001, 40.764252]])
table(DATATABLE, 1599, "what looks like a hexadecimal number is none", "{a: [?n]i64}", "a,b\n0x10,1\n7,2\n", "t.a", REFUSED)
table(PANDAS, 56690, "a thousands separator in quotes is part of no number", "{a: [?n]i64}", 'a,b\n"1,234",1\n2,2\n', "t.a", REFUSED)
table("wrandelshofer/FastDoubleParser", 14, "a short real above half of the least one, though not as a long one", "{x: [?n]f32}",
      "x,k\n7.006492321624086e-46,1\n7.0064923216240850e-46,2\n", "for i: f64(t.x[i])", [2.0**-149, 0.0])
table("scala-js/scala-js", 4035, "a short real just above the middle of two", "{x: [?n]f32}",
      "x,k\n1.00000005960464477539062500000001,1\n1.000000059604644775390625,2\n1.00000017881393432617187499999999,3\n",
      "for i: f64(t.x[i])", [1 + 2.0**-23, 1.0, 1 + 2.0**-23])
table("fastfloat/fast_float", 8, "numbers of eight hundred digits", "{x: [?n]f64}", f"x,k\n{LONG_PI},1\n-{LONG_PI}e-2,2\n", "t.x",
      [math.pi, float(f"-{LONG_PI}e-2")])
table("jdh8/metallic", 5, "halves of the least real, and what rounds to the greatest", "{x: [?n]f64}",
      "x,k\n2.4703282292062327e-324,1\n2.4703282292062328e-324,2\n7.4109846876186982e-324,3\n1.79769313486231580e308,4\n",
      "t.x", [0.0, 5e-324, 1e-323, 1.7976931348623157e308])
table("jdh8/metallic", 5, "a number beyond the range of reals: refused", "{x: [?n]f64}", "x,k\n1,1\n1.797693134862315908e308,2\n", "t.x", REFUSED,
      part="beyond")
table("simdjson/simdjson", 1036, "numbers that differ behind their nineteenth digit", "{x: [?n]f64}",
      "x,k\n9007199254740993000000000000,1\n9007199254740993000000000001,2\n", "t.x",
      [9007199254740993000000000000.0, 9007199254740993000000000001.0])

# JSON.

json("tidwall/gjson", 74, "an integer beyond 2^53 in a record", "{data: i64}", '{"data": 9007199254740993}', "t.data", 9007199254740993)
json("valyala/fastjson", 15, "integers beyond 2^53 in nested arrays, also below zero", "[?n, 2]i64",
     "[[8838840643388017390, -8838840643388017391], [1, -9223372036854775808]]", "t",
     [[8838840643388017390, -8838840643388017391], [1, -(2**63)]])
json("rhysd/fixjson", 19, "an integer beyond 64 bits: refused", "{id: i64}", '{"id": 9223372036854775808}', "t.id", REFUSED)
json("SymbolixAU/jsonify", 81, "an integer beyond 32 bits, divided", "{value: i64}", '{"value" : 5500000000}', "(t.value // 3, t.value % 3)",
     [1833333333, 1])
json("gradbench/gradbench", 232, "NaN and infinities without quotes and with them", "[?n]f64",
     '[NaN, -Infinity, Infinity, "NaN", "-Infinity", 1.5e1]', "t", [NAN, -INF, INF, NAN, -INF, 15.0])
json("sheredom/json.h", 126, "NaN with a fraction behind it: refused", "{key: f64}", '{"key": NaN.1}', "t.key", MALFORMED)
json("kgabis/parson", 7, "a key that stands twice: refused", "{x: i64}", '{"x": 1, "x": 2}', "t.x", MALFORMED)
json("nst/JSONTestSuite", 56, "a key that stands twice, once with an escape: refused", "{b: i64}", '{"b": 1, "\\u0062": 2}', "t.b", MALFORMED)
json("importcjj/rust-ajson", 9, "a key with an escape", "{aA: [2]f64, ß: i64}", '{"a\\u0041": [1e2, -0.5E-1], "\\u00df": 3}', "(t.aA, t.ß)",
     [[100.0, -0.05], 3])
