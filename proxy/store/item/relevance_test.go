package item_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// memories is what an assistant may remember of a user, by key.
var memories = map[string]string{
	"drink": "Her favourite hot beverage is sencha.", "cat": "She has a kitten called Mo.", "home": "She lives in Ghent, near the river.",
	"job": "She works as a nurse in a clinic.", "shift": "She is on duty at night on Tuesdays.", "allergy": "Peanuts make her ill.",
	"diet": "She eats no meat.", "partner": "Her husband is called Tomas.", "child": "Her daughter Lena was born in March.",
	"mother": "Her mother is in Porto.", "brother": "Her brother repairs bicycles.", "boss": "Her manager at the clinic is Dr Okonkwo.",
	"car": "She drives a red Fiat.", "bike": "The brakes of her bicycle are broken.", "train": "She takes the train to Brussels every Friday.",
	"holiday": "The family goes to the sea in August.", "ski": "She broke a leg on the slopes in 2019.", "doctor": "Her own physician is Dr Maes.",
	"pills": "She takes tablets for her blood pressure.", "sleep": "She cannot rest when it is hot.", "music": "She listens to cello suites in the evening.",
	"instrument": "She is learning the violin.", "choir": "She sings in a choir on Mondays.", "books": "She reads crime novels.",
	"film": "She does not like horror movies.", "series": "She has seen all episodes of a Danish series.", "game": "She plays chess with her father.",
	"sport": "She swims in the pool before breakfast.", "run": "She ran the marathon of Antwerp.", "team": "The children are in a football team.",
	"phone": "Her phone is an old Nokia.", "laptop": "The screen of her notebook is cracked.", "wifi": "The name of the network at home is Nest.",
	"printer": "The printer is out of ink.", "bank": "She has her savings at Triodos.", "rent": "The flat costs 900 euros a month.",
	"tax": "She files her taxes with an accountant.", "insurance": "The policy number of the car is PX-4471.", "order": "She is waiting for parcel ZK-2208.",
	"gift": "She wants a camera for her birthday.", "birthday": "She was born on the second of May.", "wedding": "They married in Lisbon.",
	"language": "She speaks Portuguese and Dutch.", "course": "She takes lessons in Polish.", "school": "The kids go to the school on the square.",
	"degree": "She has a diploma in biology.", "garden": "She grows tomatoes on the balcony.", "plant": "The orchid needs water once a week.",
	"cook": "Her best dish is a soup of pumpkin.", "bread": "She bakes bread on Sundays.", "coffee": "Espresso after noon keeps her awake.",
	"wine": "She drinks no alcohol.", "shop": "She buys vegetables at the market.", "shoes": "Her shoe size is 38.",
	"colour": "Green is the colour that she likes best.", "clothes": "She wears wool in winter.", "weather": "She fears thunder.",
	"religion": "She goes to church at Easter.", "politics": "She votes for the greens.", "charity": "She gives money to a shelter for dogs.",
}

// questions are each answered by one memory. Some share no word with it, some share words only with others, and some
// are about names and numbers that have no meaning.
var questions = map[string]string{
	"What does she like to drink in a cup?": "drink", "Which pet is in the house?": "cat", "In which town is her apartment?": "home",
	"What is her profession?": "job", "When does she have to work late?": "shift", "Which food is dangerous for her?": "allergy",
	"Is she a vegetarian?": "diet", "Who is she married to?": "partner", "When was her daughter born?": "child",
	"Where does her mother live?": "mother", "Who could mend a wheel?": "brother", "Who is Okonkwo?": "boss",
	"What is the make of her automobile?": "car", "What is wrong with her cycle?": "bike", "Where do they spend the summer vacation?": "holiday",
	"Which injury did she have?": "ski", "Which tablets does she take?": "pills", "What is she playing on a fiddle?": "instrument",
	"What literature is she fond of?": "books", "Is there a film that she would hate?": "film", "What is her hobby in the water?": "sport",
	"Why does she need a new computer display?": "laptop", "How much does she pay for her housing?": "rent", "What is PX-4471?": "insurance",
	"Where is the delivery ZK-2208?": "order", "What would she like for her birthday?": "gift", "Which tongues does she know?": "language",
	"What is her diploma in?": "degree", "What keeps her awake?": "coffee", "Is she afraid of a storm?": "weather",
}

// meanings groups words of the same meaning. A word may be in several groups.
var meanings = []string{
	"drink drinks beverage sencha tea coffee espresso cup wine alcohol", "hot warm heat", "cat kitten pet dog dogs animal", "home house apartment flat housing rent lives live town ghent city",
	"job profession works work nurse clinic duty manager", "night late evening tuesdays mondays when", "ill dangerous allergy peanuts", "food eats eat meat vegetarian peanuts dish soup bread vegetables tomatoes",
	"vegetarian meat vegan", "married marry husband wife partner wedding", "baby daughter child children kids born", "mother mum parent", "brother sister father family",
	"repairs mend repair broken brakes", "wheel bicycle bicycles cycle bike", "car automobile drives fiat make", "train travel takes brussels", "holiday vacation summer sea august",
	"injury broke leg slopes ski", "doctor physician medicine dr tablets pills", "medicine tablets pills drug need needs", "sleep rest awake", "music cello violin fiddle sings choir", "violin fiddle instrument playing learning",
	"reads read books novels literature crime", "film movies movie series episodes horror", "hate dislike fears afraid horror", "game chess plays", "water swims pool swim sea river", "sport hobby marathon ran football team swims",
	"computer notebook laptop display screen", "cracked broken wrong", "phone nokia", "network printer ink", "money pay costs cost euros savings bank taxes", "rent flat month housing",
	"parcel delivery order waiting", "gift present birthday wants", "happy camera", "languages tongues speaks portuguese dutch polish language", "study university diploma degree biology school lessons course",
	"garden orchid balcony plant grows", "coffee espresso", "storm thunder weather rain", "shop buys market", "shoe size wool wears clothes", "colour green greens", "church easter religion", "votes politics",
}

// understanding computes vectors from meanings. It blurs each text's meaning as models do: differently for each text,
// but deterministically.
type understanding struct{ blur uint64 }

func (u understanding) Query(_ context.Context, text string) ([]float32, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), u.blur))
	v := make([]float32, len(meanings))
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, list := range meanings {
		for _, word := range strings.Fields(list) {
			if slices.Contains(words, word) {
				v[i]++
			}
		}
		v[i] += float32(r.NormFloat64()) * 0.12
	}
	vectorindex.Unit(v)
	return v, nil
}

func (u understanding) Documents(ctx context.Context, texts []string) (list [][]float32, refused, err error) {
	for _, text := range texts {
		v, _ := u.Query(ctx, text)
		list = append(list, v)
	}
	return list, nil, nil
}

// relevance measures answers: the share of questions with the answer among the first five results, and the mean
// reciprocal rank.
type relevance struct{ recall, rank float64 }

func (r relevance) String() string { return fmt.Sprintf("recall@5 %.2f, MRR %.2f", r.recall, r.rank) }

func ask(search func(question string) []string) (r relevance) {
	for _, question := range slices.Sorted(maps.Keys(questions)) {
		place := slices.Index(search(question), questions[question]) + 1
		if place > 0 && place <= 5 {
			r.recall += 1 / float64(len(questions))
		}
		if place > 0 {
			r.rank += 1 / float64(len(questions)) / float64(place)
		}
	}
	return r
}

// A search by meaning and words is at least as good as one by the cosine of the vectors alone or by words alone.
func TestCombinedSearchIsAtLeastAsGoodAsEither(t *testing.T) {
	t.Parallel()
	path, err := itemquery.ParseItemPath("text")
	if err != nil {
		t.Fatal(err)
	}
	for blur := range uint64(4) {
		u := understanding{blur}
		ix := &item.Index{Embed: u, Dims: len(meanings), Mark: "m", Cache: 1 << 20, Fields: []itemquery.ItemPath{path}}
		b := openAt(t, filepath.Join(t.TempDir(), "a.db"), store.Options{Synchronous: "normal", Index: ix})
		for key, text := range memories {
			b.put(key, fmt.Sprintf(`{"text":%q}`, text), "ada")
		}
		b.embed()
		by := func(by mapping.SearchBy) relevance {
			return ask(func(q string) []string {
				return b.search(item.Query{Query: q, SearchBy: by, Limit: len(memories)})
			})
		}
		cosine := ask(func(q string) []string { return u.nearest(b.ctx, q) })
		meaning, words, both := by(mapping.SearchByMeaning), by(mapping.SearchByWords), by(mapping.SearchByBoth)
		t.Logf("cosine: %v; words: %v; both: %v", cosine, words, both)
		if meaning != cosine {
			t.Errorf("by meaning: %v; by the cosine of the vectors: %v", meaning, cosine)
		}
		for _, one := range []relevance{cosine, words} {
			if both.recall < one.recall || both.rank < one.rank {
				t.Errorf("by both: %v; by one: %v", both, one)
			}
		}
		if cosine.recall < 0.8 || cosine.rank > 0.95 || words.recall > 0.8 {
			t.Errorf("the questions do not distinguish good searches from bad ones: cosine %v, words %v", cosine, words)
		}
	}
}

// nearest returns the keys of all memories, ordered by the cosine of their vectors.
func (u understanding) nearest(ctx context.Context, question string) (keys []string) {
	near := map[string]float32{}
	query, _ := u.Query(ctx, question)
	for key, text := range memories {
		v, _ := u.Query(ctx, text)
		near[key], keys = vectorindex.Near(query, v), append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(near[b], near[a]) })
	return keys
}
