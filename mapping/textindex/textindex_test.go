package textindex

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                         nil,
		" \t\u0000 !?':*()\"-- %_": nil,
		"The red-Fox, 2.5!":        {"the", "red", "fox", "2", "5"},
		"don't user_id":            {"don", "t", "user", "id"},
		"STRASSE straße ﬁn Ⅳ":      {"strasse", "strasse", "fin", "iv"},
		"e\u0301 é":                {"é", "é"},
		"İstanbul I\u0307 ISI ısı": {"istanbul", "i", "isi", "isi"},
		"ΟΔΟΣ οδος ŉ ǰ":            {"οδοσ", "οδοσ", "ʼn", "ǰ"},
		"ＦＵＬＬ ｗｉｄｔｈ":               {"full", "width"},
		"हिन्दी":                   {"हिन्दी"},
		"黒い猫":                      {"黒", "い", "黒い", "猫", "い猫"},
		"猫cat２匹":                   {"猫", "cat2", "匹"},
		"한국":                       {"한", "국", "한국"},
		strings.Repeat("x", 99):    {strings.Repeat("x", 64)},
		"🙂 a\xffb":                 {"a", "b"},
	} {
		if diff := cmp.Diff(want, slices.Collect(Tokens(text))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestQueriesLookForPairs(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"fox", "黒い", "い猫", "猫"}, Query("Fox 黒い猫 猫 FOX!")); diff != "" {
		t.Error(diff)
	}
}

func TestBags(t *testing.T) {
	t.Parallel()
	b := NewBag(slices.Values([]string{"b a", "B c"}))
	if string(b) != "a 1\nb 2\nc 1\n" || b.Words() != 4 {
		t.Errorf("%q has %d words", b, b.Words())
	}
	if NewBag(slices.Values[[]string](nil)) != nil || Bag("no bag").Words() != 0 {
		t.Error("an empty text has matches")
	}
	var long strings.Builder
	for n := range bagMost + 10 {
		fmt.Fprintf(&long, "w%d w0 ", n)
	}
	kept := 0
	for range NewBag(slices.Values([]string{long.String()})).Counts() {
		kept++
	}
	if kept != bagMost {
		t.Errorf("%d tokens are kept", kept)
	}
	endless := func(yield func(string) bool) {
		for yield("a few words") {
		}
	}
	if n := NewBag(endless).Words(); n < bagMostBytes/6 || n > bagMostBytes/2 {
		t.Errorf("%d words of an endless text are kept", n)
	}
}

// A rare word has more weight than a common one, several occurrences more than one, and a short text more than a long
// one.
func TestRank(t *testing.T) {
	t.Parallel()
	texts := []string{
		"the the the whale", "the fox", "the fox and the fox", "the fox in a text that says much about many other things", "nothing here",
	}
	bags := make([]Bag, len(texts))
	for i, text := range texts {
		bags[i] = NewBag(slices.Values([]string{text}))
	}
	c := Corpus{Texts: 1000, Found: map[string]int{"the": 900, "fox": 3}}
	scores := c.Rank(Query("the fox"), bags)
	order := []int{0, 1, 2, 3, 4}
	slices.SortFunc(order, func(a, b int) int { return int(1e9 * (scores[b] - scores[a])) })
	if diff := cmp.Diff([]int{2, 1, 3, 0, 4}, order); diff != "" {
		t.Errorf("%v\n%s", scores, diff)
	}
	for _, s := range scores {
		if s < 0 || s >= 1 {
			t.Errorf("the score is %v", s)
		}
	}
	alike := bags[3:4]
	if common, rare := c.RankForBlend([]string{"the"}, alike)[0], c.RankForBlend([]string{"fox"}, alike)[0]; common > 0.01 || rare < 0.2 {
		t.Errorf("the score for a common word is %v, for a rare one %v", common, rare)
	}
	if both, rank := c.RankForBlend(Query("the fox"), bags[:1])[0], c.Rank(Query("the fox"), bags[:1])[0]; both > rank/5 {
		t.Errorf("the score for the common one of two words is %v, otherwise %v", both, rank)
	}
	if got := (Corpus{}).Rank(nil, bags[:1]); got[0] != 0 {
		t.Errorf("without words the score is %v", got)
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("The 黒い猫 e\u0301 \x00\xff ﷺ")
	f.Fuzz(func(t *testing.T, text string) {
		all := map[string]bool{}
		for token := range Tokens(text) {
			all[token] = true
			if token == "" || strings.ContainsAny(token, " \n\x00") || !utf8.ValidString(token) || utf8.RuneCountInString(token) > tokenMost {
				t.Fatalf("%q has the token %q", text, token)
			}
		}
		for _, token := range Query(text) {
			if !all[token] {
				t.Fatalf("%q is not found by itself: %q", text, token)
			}
		}
		if b := NewBag(slices.Values([]string{text})); len(all) < bagMost && len(text) < bagMostBytes && b.Words() < len(all) {
			t.Fatalf("%q has %d tokens, and a bag of %d", text, len(all), b.Words())
		}
	})
}
