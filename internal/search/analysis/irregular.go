package analysis

import (
	"strings"
	"sync"
)

// irregular maps the inflected forms of irregular English verbs and nouns to
// their base, which suffix stripping cannot find: "what did she buy" must reach
// "I bought". Forms that are also common words of another meaning (left, felt,
// found, saw, lay, rose, ground, wound) are kept only where the verb prevails.
var irregular = sync.OnceValue(func() map[string]string {
	m := make(map[string]string)
	for _, line := range strings.Split(irregularForms, ";") {
		forms := strings.Fields(line)
		for _, f := range forms[1:] {
			m[f] = forms[0]
		}
	}
	return m
})

// irregularOf lists the irregular forms that have a stem.
var irregularOf = sync.OnceValue(func() map[string][]string {
	m := make(map[string][]string)
	for form, base := range irregular() {
		s := string(Stem([]byte(base)))
		m[s] = append(m[s], form)
	}
	return m
})

const irregularForms = `
begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought; build built; buy bought; catch
caught; choose chose chosen; come came; deal dealt; dig dug; draw drew drawn; drink drank drunk; drive drove driven;
eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown; forget forgot
forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone goes; grow
grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known; lead led; leave left; lend
lent; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen; run
ran; say said; see saw seen; sell sold; send sent; shake shook shaken; shoot shot; show shown; sing sang sung; sink
sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; stand stood; steal stole stolen; stick stuck; strike
struck; swear swore sworn; sweep swept; swim swam swum; take took taken; teach taught; tear tore torn; tell told;
think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; win won; write wrote
written; child children; foot feet; man men; mouse mice; person people; tooth teeth; woman women; wife wives; life
lives; leaf leaves; knife knives`
