package itemquery

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// found reports whether an index would find a value with a list of ranges.
func found(ranges []MemberRange, entries [][]byte) bool {
	return slices.ContainsFunc(entries, func(e []byte) bool {
		return len(e) == 0 || slices.ContainsFunc(ranges, func(r MemberRange) bool {
			return slices.Compare(r.From, e) <= 0 && slices.Compare(e, r.To) <= 0
		})
	})
}

// memberValues are values of one member: of all kinds, at limits, and equal except for the part that is cut off.
var memberValues = []string{`0`, `-0`, `-0.0`, `1`, `1.0`, `-1`, `2.5`, `-2.5`, `1e3`, `1000`, `9007199254740993`, `9007199254740992`, `1e400`, `-1e400`, `1e-400`,
	`""`, `"a"`, `"\u0061"`, `"b"`, `"a\u0000"`, `"é"`, `"\ud800"`, `"1"`, `"` + strings.Repeat("x", 70) + `"`, `"` + strings.Repeat("x", 70) + `y"`,
	`true`, `false`, `null`, `{}`, `[1]`}

// Every list of ranges finds the values that match the filter, for all values and operators.
func TestMembersFindEveryMatch(t *testing.T) {
	t.Parallel()
	filters := []string{`{"m":%s}`, `{"m":{"$eq":%s}}`, `{"m":{"$ne":%s}}`, `{"m":{"$in":[%s,7]}}`, `{"m":{"$gt":%s}}`, `{"m":{"$gte":%s}}`, `{"m":{"$lt":%s}}`,
		`{"m":{"$lte":%s}}`, `{"m":{"$gte":%s,"$lt":9}}`, `{"$or":[{"m":%s},{"m":{"$gt":5}}]}`, `{"$and":[{"m":{"$lte":%s}}]}`, `{"m":{"$exists":true},"n":%s}`}
	for _, text := range filters {
		for _, wanted := range memberValues {
			filter, err := ParseFilter(json.RawMessage(fmt.Sprintf(text, wanted)))
			if err != nil {
				continue // only numbers and strings are ordered
			}
			for _, have := range memberValues {
				value := json.RawMessage(`{"other":1, "m": ` + have + ` ,"n":` + have + `}`)
				for _, ranges := range filter.Members() {
					if filter.Match(value) && !found(ranges, ItemMembers(value)) {
						t.Errorf("%s passes "+text+" and is not found", value, wanted)
					}
				}
			}
		}
	}
}

// An index excludes values of other names, kinds or sizes.
func TestMembersNarrow(t *testing.T) {
	t.Parallel()
	entries := ItemMembers(json.RawMessage(`{"m":5,"n":"b","o":{"p":1}}`))
	for filter, want := range map[string][]bool{
		`{"m":5,"n":"c"}`: {true, false}, `{"m":{"$gt":5.5}}`: {false}, `{"m":{"$gte":"5"}}`: {false}, `{"m":{"$lt":4}}`: {false}, `{"m":{"$gt":4,"$lt":6}}`: {true},
		`{"n":{"$in":["a","c"]}}`: {false}, `{"$or":[{"m":1},{"n":"b"}]}`: {true}, `{"$or":[{"m":1},{"n":"a"}]}`: {false}, `{"x":null}`: {false},
		`{"$or":[{"m":1},{"m":{"$ne":5}}]}`: nil, `{"o":{"p":1}}`: nil, `{"m":{"$ne":5}}`: nil, `{"m":{"$nin":[5]}}`: nil, `{"m":{"$exists":true}}`: nil, `{"m":[5]}`: nil, `{"m":{"$in":[]}}`: nil,
	} {
		parsed, err := ParseFilter(json.RawMessage(filter))
		if err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, ranges := range parsed.Members() {
			got = append(got, found(ranges, entries))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the lists find %v, want %v", filter, got, want)
		}
	}
}

func TestItemsHaveFewMembers(t *testing.T) {
	t.Parallel()
	members := func(n int) json.RawMessage {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d":"%s"`, strings.Repeat("k", 1000*(i%2)), i, strings.Repeat("v", 1000))
		}
		return json.RawMessage("{" + strings.TrimPrefix(b.String(), ",") + "}")
	}
	for n, want := range map[int]int{0: 0, 1: 1, membersMost: membersMost/2 + 1, membersMost + 1: 1, 10_000: 1} {
		if got := ItemMembers(members(n)); len(got) != want || len(got) > 0 && len(got[0]) > 2*memberCut+2 {
			t.Errorf("%d members have %d entries, %q", n, len(got), got)
		}
	}
	for value, want := range map[string]int{`[1,2]`: 0, `"text"`: 0, `not JSON`: 0, `{"a":1,"a":2,"a":1}`: 2, `{"a":{},"b":[]}`: 0} {
		if got := ItemMembers(json.RawMessage(value)); len(got) != want {
			t.Errorf("%s has the entries %q", value, got)
		}
	}
}
