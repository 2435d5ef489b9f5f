package outline

// defines makes a rule. Its pattern is one that a line begins with.
func defines(pattern string) rule { return rule{form: formOf(`^(?:` + pattern + `)`)} }

// body says that what lies in the definition is not listed.
func (r rule) body() rule {
	r.leaf = true
	return r
}

// member says that it is a definition only in another.
func (r rule) member() rule {
	r.in = true
	return r
}

// skipped says that what begins so is no definition, whatever the rules after it say.
func (r rule) skipped() rule {
	r.none = true
	return r
}

// heads says that the definitions after it lie in it.
func (r rule) heads() rule {
	r.section = true
	return r
}

// until says what ends its signature.
func (r rule) until(ends ...string) rule {
	r.ends = ends
	return r
}

// Words that begin a statement and look like a function's name before parentheses.
const statement = `(?:if|for|while|switch|catch|return|else|do|new|throw|case|sizeof|delete|goto|await|yield|super|this|with|assert|import|package)\b`

var slashes = syntax{comments: []string{"//"}, blocks: [][2]string{{"/*", "*/"}}}

// slashed are the comments of C's relatives with a language's own strings.
func slashed(nested bool, special func(string, int) (int, bool), quotes ...quote) syntax {
	s := slashes
	s.nested, s.special, s.quotes = nested, special, quotes
	return s
}

var families = map[language]*family{
	python: {
		syntax: syntax{comments: []string{"#"}, quotes: []quote{threefold, threeApos, double, single}},
		ends:   []string{":"}, levels: true,
		rules: []rule{defines(`class\s+\w`), defines(`(?:async\s+)?def\s+\w`).body()},
	},
	javascript: scripts,
	typescript: scripts,
	tsx:        scripts,
	java: {
		syntax: slashed(false, nil, threefold, double, single),
		ends:   []string{"{", ";", "="}, levels: true,
		rules: []rule{
			defines(statement).skipped(),
			defines(`(?:@\w+\s+)*(?:[a-z-]+\s+)*(?:class|interface|@interface|enum|record)\s+\w`),
			defines(`(?:@[\w.]+\s+)*(?:[a-z]+\s+)*(?:<[^>]*>\s*)?(?:[\w.$]+(?:<.*>)?(?:\[\])*\s+)?\w+\s*\([^;]*$|(?:[a-z]+\s+)*(?:<[^>]*>\s*)?[\w.$]+(?:<.*>)?(?:\[\])*\s+\w+\s*\(`).member().body(),
		},
	},
	c:   cFamily,
	cpp: cFamily,
	swift: {
		syntax: slashed(true, swiftRaw, threefold, double),
		ends:   []string{"{", " = "}, levels: true,
		rules: []rule{
			defines(swiftWords + `(?:class|struct|enum|protocol|extension|actor)\s+[\w.]`),
			defines(swiftWords + `(?:class\s+)?(?:func\s|init\b|deinit\b|subscript\b)`).body(),
			defines(swiftWords + `(?:typealias|associatedtype|macro)\s`).body(),
		},
	},
	kotlin: {
		syntax: slashed(true, nil, quote{mark: `"""`, lines: true, raw: true}, double, single),
		ends:   []string{"{", " = "}, levels: true,
		rules: []rule{
			defines(kotlinWords + `(?:class|interface|object)\b`),
			defines(kotlinWords + `(?:fun\b|constructor\b|typealias\s)`).body(),
		},
	},
	rust: {
		syntax: slashed(true, charLiteral, doubles),
		ends:   []string{"{", ";", " = "}, levels: true,
		rules: []rule{
			defines(rustWords + `(?:struct|enum|union)\s+\w`).body(),
			defines(rustWords + `(?:trait|mod)\s+\w`),
			defines(rustWords + `impl\b`),
			defines(rustWords + `fn\s+\w`).body(),
			defines(rustWords + `(?:type|const|static)\s+(?:mut\s+)?[\w]+\s*[:<=;]`).body(),
			defines(`macro_rules!\s*\w`).body(),
		},
	},
	lua: {
		syntax: syntax{quotes: []quote{double, single}, special: luaLong},
		levels: true,
		rules: []rule{
			defines(`(?:local\s+)?function\s+[\w.:]+`).body(),
			defines(`(?:local\s+)?[\w.]+\s*=\s*function\b`).body(),
		},
	},
	ruby: {
		syntax: syntax{comments: []string{"#"}, quotes: []quote{double, single}, special: rubyWords},
		ends:   []string{";", " = "}, levels: true,
		rules: []rule{
			defines(`(?:class|module)\s+\S`),
			defines(`(?:(?:private|protected|public|private_class_method|memoize)\s+)?def\s+\S`).body(),
		},
	},
	shell: {
		syntax: syntax{quotes: []quote{doubles, singles}, special: shellWords},
		ends:   []string{"{"}, levels: true,
		rules: []rule{
			defines(`function\s+[\w:.-]+`).body(),
			defines(`[\w:.-]+\s*\(\s*\)`).body(),
		},
	},
	elixir: {
		syntax: syntax{comments: []string{"#"}, quotes: []quote{threefold, threeApos, double, single}, special: elixirSigils},
		ends:   []string{" do", ", do:"}, levels: true,
		rules: []rule{
			defines(`(?:defmodule|defprotocol|defimpl)\s+\S`),
			defines(`(?:defp?|defmacrop?|defguardp?|defdelegate|defcallback)\s+\S`).body(),
			defines(`(?:defstruct|defexception)\b`).body(),
			defines(`@(?:type|typep|opaque|callback|macrocallback)\s`).body(),
			defines(`(?:describe|test)[ (]`),
		},
	},
	toml: {
		syntax: syntax{comments: []string{"#"}, quotes: []quote{threefold, {mark: `'''`, lines: true, raw: true}}},
		ends:   []string{"="},
		rules: []rule{
			defines(`\[\[?[^\]]*\]`).heads(),
			defines(`(?:[\w.-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*\s*=`),
		},
	},
	sql: {
		syntax: syntax{
			comments: []string{"--"}, blocks: [][2]string{{"/*", "*/"}}, quotes: []quote{{mark: `'`, lines: true, raw: true}}, special: dollarQuotes,
		},
		ends: []string{";", " AS ", " as ", " AS\n", " as\n"},
		rules: []rule{
			defines(`(?i)create\s+(?:\w+\s+){0,3}?table\b`).until("(", ";", " AS ", " as "),
			defines(`(?i)create\s+(?:or\s+replace\s+)?(?:\w+\s+){0,3}?(?:table|view|index|function|procedure|trigger|type|schema|database|sequence|domain|extension|role|user|policy|aggregate|materialized\s+view)\b`),
			defines(`(?i)alter\s+table\b`),
		},
	},
}

const (
	swiftWords  = `(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|private|fileprivate|internal|open|package|final|static|override|mutating|nonmutating|indirect|required|convenience|dynamic|nonisolated|isolated|distributed|async|lazy|prefix|postfix|infix)(?:\(\w+\))?\s+)*`
	kotlinWords = `(?:@[\w.]+(?:\([^)]*\))?\s+)*(?:(?:public|private|internal|protected|open|abstract|final|sealed|data|enum|annotation|inner|value|inline|companion|override|suspend|operator|infix|tailrec|external|expect|actual|const|lateinit|fun)\s+)*`
	rustWords   = `(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|async|unsafe|const|extern(?:\s+"?[^"]*"?)?)\s+)*`
	scriptWords = `(?:export\s+)?(?:default\s+)?(?:declare\s+)?`
	memberWords = `(?:(?:public|private|protected|static|async|get|set|abstract|override|readonly|declare|accessor)\s+)*`
)

// scripts are JavaScript and TypeScript.
var scripts = &family{
	syntax: slashed(false, templates, double, single),
	ends:   []string{"{", ";", "=>"}, levels: true,
	rules: []rule{
		defines(statement).skipped(),
		defines(scriptWords + `(?:abstract\s+)?class\b`),
		defines(scriptWords + `(?:interface|namespace|module|(?:const\s+)?enum)\s+[\w.$"']`),
		defines(scriptWords + `(?:async\s+)?function\b`).body(),
		defines(scriptWords + `type\s+[\w$]+\s*[=<]`).body(),
		defines(scriptWords + `(?:const|let|var)\s+[\w$]+\s*(?::[^=]*)?=\s*(?:async\s*)?(?:function\b|class\b|(?:<[^>]*>\s*)?\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?::[^=]*)?=>|[\w$]+\s*=>|\((?:[^()]|\([^()]*\))*$)`).body(),
		defines(memberWords + `(?:[*#]\s*)?[\w$\[\].]+\??\s*(?:<[^>]*>)?\s*\([^;]*(?:\{|$)|` + memberWords + `(?:[*#]\s*)?[\w$]+\??\s*(?:<[^>]*>)?\s*\(.*\)\s*:[^;{]*;?$`).member().body(),
		defines(memberWords + `#?[\w$]+\s*(?::[^=]*)?=\s*(?:async\s*)?(?:\([^)]*\)|[\w$]+)\s*(?::[^=]*)?=>`).member().body(),
	},
}

// cFamily are C and C++. A function's line has its type before its name, or lies in a class.
var cFamily = &family{
	syntax: slashed(false, cStrings, double),
	ends:   []string{"{", ";", ") :", " ="}, levels: true,
	split: formOf(`^(?:template\s*<.*>|[A-Za-z_][\w:<>,*&\s]*[\w>*&])$`),
	rules: []rule{
		defines(statement).skipped(),
		defines(`typedef\b`).body(),
		defines(`(?:template\s*<.*>\s*)?using\s+\w+\s*=`).body().until("{", ";"),
		defines(`#\s*define\s+\w`).body(),
		defines(`(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:[\w:]+\s+)*[\w:<>, ]*(?:\{|:[^:]|$)`),
		defines(`(?:inline\s+)?namespace\b|extern\s+"?`),
		defines(`(?:template\s*<.*>\s*)?(?:[\w:<>,~*&\[\]]+\s+)+[*&\s]*(?:[\w:~<>]+|operator\s*\S{1,3})\s*\(.*$`).body(),
		defines(`(?:[\w:<>,*&]+\s+)*[*&\s]*(?:~?\w+|operator\s*\S{1,3})\s*\(.*$`).member().body(),
		defines(`(?:\w+::)+~?\w+\s*\([^;]*$`).body(),
	},
}
