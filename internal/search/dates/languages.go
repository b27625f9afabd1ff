package dates

import (
	"strings"
	"sync"
)

// language is the table of one language. A name may be written in several ways,
// separated by a stroke. Words are lower case.
type language struct {
	months, weekdays string // twelve from January, seven from Sunday
	days             string // today, yesterday, the day before yesterday, tomorrow
	// last and this go with a unit, before or after it: "last week", "la semaine
	// dernière".
	last, this        string
	week, month, year string
	ago               string // before or after a number and a unit
	between           string // words between a day and a month, or a month and a year
	dayUnit           string
}

// languages are the tables. Words that one language shares with another mean
// the same in both, or are left out.
var languages = []language{
	{ // English
		months:   "january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sep|sept october|oct november|nov december|dec",
		weekdays: "sunday monday tuesday|tues wednesday thursday|thurs friday saturday",
		days:     "today|tonight yesterday - tomorrow",
		last:     "last|past|previous", this: "this|current",
		week: "week|weeks", month: "month|months", year: "year|years", ago: "ago",
		between: "of the in", dayUnit: "day|days",
	},
	{ // German
		months:   "januar|jänner februar märz|maerz april mai juni juli august september oktober november dezember",
		weekdays: "sonntag montag dienstag mittwoch donnerstag freitag samstag|sonnabend",
		days:     "heute gestern vorgestern morgen",
		last:     "letzte|letzten|letzter|letztes|letztem|vorige|vorigen|voriger|voriges|vergangene|vergangenen", this: "diese|diesen|dieser|dieses|diesem",
		week: "woche|wochen", month: "monat|monate|monaten", year: "jahr|jahre|jahren", ago: "vor",
		between: "im des", dayUnit: "tag|tage|tagen",
	},
	{ // French
		months:   "janvier février|fevrier mars avril mai juin juillet août|aout septembre octobre novembre décembre|decembre",
		weekdays: "dimanche lundi mardi mercredi jeudi vendredi samedi",
		days:     "aujourd'hui|aujourd’hui hier avant-hier demain",
		last:     "dernier|dernière|derniere|passé|passée", this: "ce|cette|cet",
		week: "semaine|semaines", month: "mois", year: "an|ans|année|annee|années", ago: "il",
		between: "de du en", dayUnit: "jour|jours",
	},
	{ // Spanish
		months:   "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre",
		weekdays: "domingo lunes martes miércoles|miercoles jueves viernes sábado|sabado",
		days:     "hoy ayer anteayer mañana",
		last:     "pasado|pasada|último|última|ultimo|ultima", this: "este|esta",
		week: "semana|semanas", month: "mes|meses", year: "año|años", ago: "hace",
		between: "de del en", dayUnit: "día|días|dia|dias",
	},
	{ // Italian
		months:   "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		weekdays: "domenica lunedì|lunedi martedì|martedi mercoledì|mercoledi giovedì|giovedi venerdì|venerdi sabato",
		days:     "oggi ieri - domani",
		last:     "scorso|scorsa", this: "questo|questa",
		week: "settimana|settimane", month: "mese|mesi", year: "anno|anni", ago: "fa",
		between: "di del", dayUnit: "giorno|giorni",
	},
	{ // Portuguese
		months:   "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		weekdays: "domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado|sabado",
		days:     "hoje ontem anteontem amanhã",
		last:     "passado|passada", this: "este|esta|neste|nesta",
		week: "semana|semanas", month: "mês|meses", year: "ano|anos", ago: "há",
		between: "de do em", dayUnit: "dia|dias",
	},
	{ // Dutch
		months:   "januari februari maart april mei juni juli augustus september oktober november december",
		weekdays: "zondag maandag dinsdag woensdag donderdag vrijdag zaterdag",
		days:     "vandaag gisteren eergisteren morgen",
		last:     "vorige|afgelopen", this: "deze|dit",
		week: "week|weken", month: "maand|maanden", year: "jaar", ago: "geleden",
		between: "van", dayUnit: "dag|dagen",
	},
	{ // Russian
		months:   "январь|января|январе февраль|февраля|феврале март|марта|марте апрель|апреля|апреле май|мая|мае июнь|июня|июне июль|июля|июле август|августа|августе сентябрь|сентября|сентябре октябрь|октября|октябре ноябрь|ноября|ноябре декабрь|декабря|декабре",
		weekdays: "воскресенье понедельник вторник среду|среда четверг пятницу|пятница субботу|суббота",
		days:     "сегодня вчера позавчера завтра",
		last:     "прошлой|прошлом|прошлую|прошлый|прошлого", this: "этой|этом|эту|этот",
		week: "неделю|неделе|недели|недель", month: "месяц|месяце|месяца|месяцев", year: "год|году|года|лет", ago: "назад",
		between: "", dayUnit: "день|дня|дней",
	},
}

// word is the meaning of a word in a date. It may have several meanings: "mai",
// "week".
type word struct {
	month    int // 1 to 12
	weekday  int // 1 Sunday to 7
	day      int // days from today, plus one hundred; see today
	unit     unit
	relation relation
	between  bool
}

type unit uint8

const (
	noUnit unit = iota
	dayUnit
	weekUnit
	monthUnit
	yearUnit
	weekendUnit
	seasonUnit // and the three after it
)

type relation uint8

const (
	noRelation relation = iota
	lastOne
	thisOne
	nextOne
	agoWord
)

// today is the day of "today" in word.day, which is zero for no day.
const today = 100

// vocabulary is all tables as one map.
var vocabulary = sync.OnceValue(func() map[string]word {
	v := make(map[string]word)
	set := func(names string, change func(*word)) {
		for _, name := range strings.Split(names, "|") {
			if name != "" && name != "-" {
				w := v[name]
				change(&w)
				v[name] = w
			}
		}
	}
	for _, l := range languages {
		for i, names := range strings.Fields(l.months) {
			set(names, func(w *word) { w.month = i + 1 })
		}
		for i, names := range strings.Fields(l.weekdays) {
			set(names, func(w *word) { w.weekday = i + 1 })
		}
		for i, names := range strings.Fields(l.days) {
			set(names, func(w *word) { w.day = today + []int{0, -1, -2, 1}[i] })
		}
		for i, names := range []string{l.dayUnit, l.week, l.month, l.year} {
			set(names, func(w *word) { w.unit = dayUnit + unit(i) })
		}
		set(l.last, func(w *word) { w.relation = lastOne })
		set(l.this, func(w *word) { w.relation = thisOne })
		set(l.ago, func(w *word) { w.relation = agoWord })
		for _, b := range strings.Fields(l.between) {
			set(b, func(w *word) { w.between = true })
		}
	}
	set("next|coming|upcoming|nächste|nächsten|nächster|prochain|prochaine|próximo|próxima|prossimo|prossima|volgende", func(w *word) { w.relation = nextOne })
	set("weekend|weekends|wochenende", func(w *word) { w.unit = weekendUnit })
	for i, names := range []string{"winter", "spring", "summer|sommer|été|verano|estate|verão|zomer", "fall|autumn|herbst|automne|otoño|autunno|outono|herfst"} {
		set(names, func(w *word) { w.unit = seasonUnit + unit(i) })
	}
	return v
})

// Name reports whether a word names a month or a day of the week, and which month.
func Name(text string) (month int, ok bool) {
	w := vocabulary()[strings.ToLower(text)]
	return w.month, w.month > 0 || w.weekday > 0
}

// numbers are the English words for small numbers and ordinals.
var numbers = sync.OnceValue(func() map[string]int {
	m := map[string]int{"a": 1, "an": 1, "couple": 2, "few": 3, "several": 4}
	for i, w := range strings.Fields("one two three four five six seven eight nine ten eleven twelve") {
		m[w] = i + 1
	}
	for i, w := range strings.Fields("first second third fourth fifth") {
		m[w] = i + 1
	}
	return m
})

// parts name the third of a month, season or year.
var parts = map[string]int{
	"early": 1, "beginning": 1, "start": 1, "anfang": 1, "début": 1, "principios": 1, "inizio": 1, "начале": 1,
	"mid": 2, "middle": 2, "mitte": 2, "mediados": 2, "metà": 2, "середине": 2,
	"late": 3, "end": 3, "ende": 3, "fin": 3, "finales": 3, "fine": 3, "конце": 3,
}
