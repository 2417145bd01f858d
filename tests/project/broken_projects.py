"""A good project, and what is said when one thing of it is changed: (old, new, place and message)."""

from __future__ import annotations

GOOD = """\
[subject]
name = "shop"

[[benchmark]]
name    = "orders"
build   = ["make", "{engine}"]
prepare = ["./prepare", "{work}"]
command = ["./orders", "--db", "{work}/db", "--conf", "{file:shop.conf}", "-n", "{rows}"]
reader  = "json"
timeout = "30s"
warmup  = 3
cpus    = [1]
server  = { command = ["./serve", "{port}"], ready = { port = true, timeout = "5s" } }

[[benchmark.metric]]
name   = "latency"
unit   = "s"
better = "lower"
path   = "results[*].latency"

[[benchmark.file]]
path     = "shop.conf"
template = "shop.conf.j2"

[benchmark.workload]
rows = 1000

[options.engine]
settings = ["disk", "memory"]
build    = true

[options.cache]
settings = [10, 200]
argument = "--cache={}"

[options.journal]
settings  = [true, false]
active_if = "engine == 'disk'"
env       = "JOURNAL"

[space]
constraints = ["cache <= 10 or engine == 'disk'", "journal => cache == 10"]
"""
TEMPLATE = "engine = {{ engine }}\nrows = {{ workload.rows }}\n"

BROKEN = {
    "a bracket is missing": (
        "[subject]",
        "[subject",
        "1:9: this is not valid TOML: Expected ']' at the end of a table declaration",
    ),
    "a setting with a NUL": (
        'settings = ["disk", "memory"]',
        'settings = ["disk", "mem\\u0000ory"]',
        "29:21: the setting 'mem\\x00ory' has a NUL, which arguments and variables of programs cannot hold; "
        "leave out the NUL",
    ),
    "a benchmark whose name is a path": (
        'name    = "orders"',
        'name    = "../../orders"',
        "5:11: '../../orders' cannot name a benchmark: files and results are named after it; "
        'leave out ".", ".." and "/" at the ends, as in name = "sort/large"',
    ),
    "a property that machines lack": (
        'argument = "--cache={}"',
        'has      = "procesor"',
        "34:12: machines have no property 'procesor'; did you mean 'processor'?",
    ),
    "a number of a machine": (
        'argument = "--cache={}"',
        "has      = 5",
        '34:12: has: expected a property or a command, found 5; as in has = "processor" or has = ["{}", "--version"]',
    ),
    "an empty command of a machine": (
        'argument = "--cache={}"',
        "has      = []",
        "34:12: has: expected a property or a command, found an empty array; "
        'as in has = "processor" or has = ["{}", "--version"]',
    ),
    "a quote is missing": ('"shop"', '"shop', "2:13: this is not valid TOML: the string is never closed"),
    "no value": (
        "3\n",
        "\n",
        "11:11: this is not valid TOML: expected a value: text in quotes, a number, true, false, [ or {",
    ),
    "a key twice": ('reader  = "json"', 'name = "json"', "9:14: this is not valid TOML: the key is there twice"),
    "an unknown table": ("[space]", "[spaec]", "41:1: unknown key 'spaec'; did you mean 'space'?"),
    "an unknown key": ("reader ", "raeder ", "9:1: unknown key 'raeder'; did you mean 'reader'?"),
    "an unknown key of an option": ("argument", "arguments", "34:1: unknown key 'arguments'; did you mean 'argument'?"),
    "an unknown key in an inline table": (
        "port = true",
        "prot = true",
        "13:56: unknown key 'prot'; did you mean 'port'?",
    ),
    "text instead of a list": (
        '["make", "{engine}"]',
        '"make -s"',
        '6:11: build: expected a list of arguments, found text; there is no shell; write ["make", "-s"]',
    ),
    "a number instead of text": ('"orders"\n', "7\n", "5:11: name: expected text in quotes, found the number 7"),
    "a duration without a unit": (
        '"30s"',
        '"30"',
        "10:11: '30' is not a valid duration; write a number above zero and ms, s, m or h, such as '30s'",
    ),
    "a warm-up in words": (
        "= 3",
        '= "later"',
        "11:11: warmup: 'later' is not a valid number of observations; write a number, or \"auto\"",
    ),
    "a negative warm-up": ("= 3", "= -3", "11:11: warmup: expected an integer from 0 on, found the number -3"),
    "a CPU twice": ("[1]", "[1, 1]", "12:15: CPU 1 is there twice"),
    "an unknown reader": ('"json"', '"jsno"', "9:11: unknown reader 'jsno'; did you mean 'json'?"),
    "no command": (
        'command = ["./orders"',
        'cleanup = ["./orders"',
        '4:1: command is missing; add it, as in command = ["./program", "--flag"]',
    ),
    "an empty command": (
        'prepare = ["./prepare", "{work}"]',
        "prepare = []",
        '7:11: prepare is empty; as in prepare = ["./program", "--flag", "{option}"]',
    ),
    "a wrong placeholder": (
        "{work}/db",
        "{wrok}/db",
        "8:33: unknown placeholder {wrok}; did you mean {work}? (for braces as they are, double them: {{ }})",
    ),
    "a file that is none of the benchmark's": (
        "{file:shop.conf}",
        "{file:shop.cnf}",
        "8:56: unknown placeholder {file:shop.cnf}; did you mean {file:shop.conf}? "
        "(for braces as they are, double them: {{ }})",
    ),
    "a single brace": ("{work}/db", "{work/db", "8:33: a single '{'; write '{{' for a brace as it is"),
    "a build that names an option that needs none": (
        '"{engine}"',
        '"{cache}"',
        "6:21: option 'cache' is not one that needs a build; add build = true to [options.cache]",
    ),
    "an option that needs a build that is not there": (
        'build   = ["make", "{engine}"]\n',
        "",
        "4:1: option 'engine' needs a build, and there is none; add build = [\"make\"]",
    ),
    "a server that is told no port": (
        '"{port}"',
        '"80"',
        "13:42: ready waits for the port, but the server is not given the port; pass {port} in command",
    ),
    "a server that is never ready": (
        "port = true, ",
        "",
        '13:54: ready waits for nothing; add port = true or line = "listening"',
    ),
    "a metric without a unit": (
        'unit   = "s"\n',
        "",
        '15:1: unit is missing; add it, as in unit = "s" (or "1" where it has none)',
    ),
    "a metric without a direction": ('"lower"', '"less"', "18:10: better is 'less'; write lower or higher"),
    "a path that is none": (
        "results[*].latency",
        "results[].latency",
        "19:10: 'results[].latency' is not a valid path; write keys and indexes, as in results[*].latency or a.b[0]",
    ),
    "a pattern for the wrong reader": (
        "path   = ",
        "pattern= ",
        "19:1: pattern is for reader 'regex' and those of tools, such as 'jmh', this is reader 'json'",
    ),
    "a field for the wrong reader": (
        "path   = ",
        "field  = ",
        "19:1: field is for readers of tools, such as 'jmh', this is reader 'json'",
    ),
    "an output outside of the run's folder": (
        'reader  = "json"',
        'reader = "json"\noutput = "r.json"',
        '10:10: output is not a file in the run\'s folder; as in output = "{work}/result.json"',
    ),
    "an output above the run's folder": (
        'reader  = "json"',
        'reader = "json"\noutput = "{work}/../r.json"',
        '10:10: output is not a file in the run\'s folder; as in output = "{work}/result.json"',
    ),
    "an output that names what there is not": (
        'reader  = "json"',
        'reader = "json"\noutput = "{wrok}/r.json"',
        "10:11: unknown placeholder {wrok}; did you mean {work}? (for braces as they are, double them: {{ }})",
    ),
    "a build that names what it cannot know": (
        '"make", "{engine}"',
        '"make", "{repetition}"',
        "6:21: unknown placeholder {repetition}; did you mean {revision}? (for braces as they are, double them: {{ }})",
    ),
    "a template that is not there": (
        "shop.conf.j2",
        "shop.j2",
        "23:12: template shop.j2: there is no such file; templates are read from the folder of hati.toml",
    ),
    "a template outside of the project": (
        "shop.conf.j2",
        "/etc/hostname",
        "23:12: template /etc/hostname is outside of the project; put it next to hati.toml or in its repository",
    ),
    "a source outside of the project": (
        'name = "shop"',
        'name = "shop"\nsources = ["src/**", "!../x"]',
        "3:22: '!../x' is not a path or pattern below this folder; write one such as \"data/**\"",
    ),
    "a harness without files": (
        'name = "shop"',
        'name = "shop"\nharness = ["!data/**", "!notes"]',
        "3:11: these patterns only exclude files: none is left that measures; name the files that measure too, such as "
        '"bench.py"',
    ),
    "a reset before something else": (
        'name    = "orders"',
        'name    = "orders"\nreset = { command = ["true"], before = "day" }',
        "6:40: before: 'day' is not 'run' or 'repetition'",
    ),
    "secrets that are no list": (
        'name = "shop"',
        'name = "shop"\nsecrets = "TOKEN"',
        "3:11: secrets: expected an array [...], found the text 'TOKEN'",
    ),
    "a file outside of the run's folder": (
        'path     = "shop.conf"',
        'path     = "../shop.conf"',
        "22:12: '../shop.conf' is outside of the run's folder; write a relative path without '..'",
    ),
    "a parameter named as an option": (
        "rows = 1000",
        "rows = 1000\ncache = 1",
        "27:1: 'cache' cannot name a parameter: it is taken; rename it",
    ),
    "an option without settings": (
        'settings = ["disk", "memory"]\n',
        "",
        "28:1: settings is missing; add it, as in settings = [false, true]",
    ),
    "a setting twice": ("[10, 200]", "[10, 200, 10]", "33:22: option 'cache' has the setting 10 twice; list it once"),
    "settings of two types": (
        "[10, 200]",
        "[10, 200.5]",
        "33:17: option 'cache' has settings of different types: '10' is integer, '200.5' is real; "
        "write every number with a point",
    ),
    "a setting that is not a valid number": (
        "[10, 200]",
        "[1.0, nan]",
        "33:18: option 'cache' has a setting that is not a finite number: nan",
    ),
    "a setting that is none": (
        "[10, 200]",
        "[10, [200]]",
        "33:17: expected a setting: true, false, a number or text in quotes; as in settings = [false, true]",
    ),
    "a default that is not a valid setting": (
        "[10, 200]",
        "[10, 200]\ndefault = 100",
        "34:11: option 'cache' has the default 100, which is none of its settings; use one of: 10, 200",
    ),
    "an option named as a placeholder": (
        "[options.cache]",
        "[options.port]",
        "32:1: {port} is a placeholder of its own; call the option port_option, for instance",
    ),
    "an argument without its setting": (
        "--cache={}",
        "--cache",
        '34:12: the argument has no {} for the setting; as in "--cache={}"',
    ),
    "an argument that cannot be split": (
        '"--cache={}"',
        '"--cache \'{}"',
        "34:12: the argument cannot be split: no closing quotation; close the quotation",
    ),
    "a variable's name": (
        '"JOURNAL"',
        '"JOUR-NAL"',
        "39:13: 'JOUR-NAL' cannot name an environment variable; use letters, digits and _",
    ),
    "two options with one variable": (
        'argument = "--cache={}"',
        'env = "JOURNAL"',
        "39:1: environment variable JOURNAL is that of option 'cache' too",
    ),
    "a formula that ends too early": (
        "engine == 'disk'\"\n",
        'engine == "\n',
        "38:23: expected an option, a setting or '(', found the end",
    ),
    "a foreign operator": (
        "cache <= 10 or",
        "cache <= 10 ||",
        "42:29: '||' is not known in formulas; write 'or'",
    ),
    "an unknown option in a formula": (
        "journal => ",
        "jurnal => ",
        "42:52: unknown option 'jurnal'; did you mean 'journal'?",
    ),
    "an unknown setting in a formula": (
        "or engine == 'disk'",
        "or engine == 'dist'",
        "42:42: 'dist' is not a setting of option 'engine'; did you mean 'disk'?",
    ),
    "a type error in a formula": (
        "cache <= 10 or",
        "engine <= 10 or",
        "42:27: engine is text, 10 is a number; compare what is alike",
    ),
    "a condition on itself": (
        "active_if = \"engine == 'disk'\"",
        'active_if = "journal"',
        "38:1: the conditions active_if go in a circle: journal needs journal; let one of them be active always",
    ),
}
