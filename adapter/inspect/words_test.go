package inspect

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// shortForm writes what is only in a text in brackets: [a|b].
func shortForm(list []piece) string {
	var b strings.Builder
	for i, p := range list {
		switch {
		case p.Kind == inBoth:
			b.WriteString(p.Text)
		case p.Kind == onlyA:
			b.WriteString("[" + p.Text + "|")
			if i+1 == len(list) || list[i+1].Kind != onlyB {
				b.WriteString("]")
			}
		case i > 0 && list[i-1].Kind == onlyA:
			b.WriteString(p.Text + "]")
		default:
			b.WriteString("[|" + p.Text + "]")
		}
	}
	return b.String()
}

func sides(list []piece) (a, b string) {
	for _, p := range list {
		if p.Kind != onlyB {
			a += p.Text
		}
		if p.Kind != onlyA {
			b += p.Text
		}
	}
	return a, b
}

func TestWordDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"the same", "the same", "the same"},
		{"", "new", "[|new]"},
		{"gone", "", "[gone|]"},
		{"I like ferns", "I like ferns and hostas", "I like ferns[| and hostas]"},
		{"Bed 1 has ferns.", "Bed 2 has hostas.", "Bed [1|2] has [ferns|hostas]."},
		{"one red car here", "one blue bus here", "one [red car|blue bus] here"},
		{"It isn't", "It wasn't", "It [isn't|wasn't]"},
		{"a\nb\nc", "a\nx\nc", "a\n[b|x]\nc"},
		{"nothing is alike in this", "Bonjour, tout le monde", "[nothing is alike in this|Bonjour, tout le monde]"},
		{"I look for plants first.", "I was asked to plan a garden. I will write a file.", "[I look for plants first.|I was asked to plan a garden. I will write a file.]"},
		{"I look for plants", "I look for plants. I was asked to plan a garden, and will write a file.", "I look for plants[|. I was asked to plan a garden, and will write a file.]"},
		{"هذا نص قصير", "هذا نص طويل", "هذا نص [قصير|طويل]"},
		{"שָׁלוֹם לך", "שָׁלֹם לך", "[שָׁלוֹם|שָׁלֹם] לך"},
		{"cafe\u0301 noir", "cafe noir", "[cafe\u0301|cafe] noir"},
		{"一个红色的花园", "一个绿色的花园", "一个[红|绿]色的花园"},
		{"die 👩\u200d🌾 gräbt", "die 👨\u200d🌾 gräbt", "die [👩\u200d🌾|👨\u200d🌾] gräbt"},
		{"thumbs 👍🏽 up", "thumbs 👍🏿 up", "thumbs [👍🏽|👍🏿] up"},
		{"flag 🇫🇷", "flag 🇫🇮", "flag [🇫🇷|🇫🇮]"},
	} {
		work := 1000
		list := wordDifference(c.a, c.b, &work)
		if got := shortForm(list); got != c.want {
			t.Errorf("%q and %q: got %q, want %q", c.a, c.b, got, c.want)
		}
		if a, b := sides(list); a != c.a || b != c.b {
			t.Errorf("%q and %q became %q and %q", c.a, c.b, a, b)
		}
	}
}

// Texts of 5,000 words each have 25 million pairs of words. Only as many are compared as the bound allows.
func TestWordDifferenceIsBounded(t *testing.T) {
	t.Parallel()
	long := func(word string) string { return "begin " + strings.Repeat(word+" ", 5000) + "end" }
	a, b := long("red"), long("blue")
	work := 1000
	list := wordDifference(a, b, &work)
	if work != 1000 || len(list) != 2 {
		t.Errorf("%d left, %d pieces", work, len(list))
	}
	if x, y := sides(list); x != a || y != b {
		t.Error("words were lost")
	}
	changed := strings.Replace(a, "begin red", "begin blue", 1) // a common end costs nothing
	if list := wordDifference(a, changed, &work); work < 990 || len(list) != 4 {
		t.Errorf("%d left, %d pieces", work, len(list))
	}
	if wordDifference("a x b", "a y b", &work); work > 1000-1 {
		t.Errorf("%d left", work)
	}
}

// No piece begins with a mark or a joiner, and all texts are kept.
func FuzzWordDifference(f *testing.F) {
	for _, seed := range [][2]string{{"e\u0301", "e"}, {"\u0301x", "x"}, {"a\u200db", "a b"}, {"\xff a", "a"}, {"  ", " "}, {"a b c d", "a x c y"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		work := 10_000
		list := wordDifference(a, b, &work)
		x, y := sides(list)
		if diff := cmp.Diff([]string{a, b}, []string{x, y}); diff != "" || work < 0 {
			t.Fatalf("%d left (-want +got):\n%s", work, diff)
		}
		for i, p := range list {
			c, _ := utf8.DecodeRuneInString(p.Text)
			if p.Text == "" || i > 0 && list[i-1].Kind == inBoth && unicode.Is(unicode.M, c) {
				t.Errorf("piece %q", p.Text)
			}
		}
	})
}
