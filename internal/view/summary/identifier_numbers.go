package summary

import (
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// numeric classifies a chunk that begins with a digit, # or $: a date, a
// version, a hash, or a number.
func (s *identScanner) numeric(lo, hi int) bool {
	c := s.text[lo:hi]
	switch {
	case dateForm().MatchString(c):
		return s.accept(ClassDate, lo, s.withClock(lo, hi))
	case isHash(c):
		return s.accept(ClassHash, lo, hi)
	case strings.Count(c, ".") >= 2 && versionForm().MatchString(c):
		return s.accept(ClassVersion, lo, hi)
	case isRate(c):
		return s.accept(ClassNumber, lo, hi)
	case isPath(c):
		return s.accept(ClassPath, lo, hi)
	case strings.IndexByte(c, '_') > 0 && !isDigits(strings.ReplaceAll(c, "_", "")):
		return s.accept(ClassSymbol, lo, hi)
	}
	if end, ok := s.cjkDate(hi, c); ok {
		return s.accept(ClassDate, lo, end)
	}
	if end, ok := s.dayMonth(lo, hi); ok {
		return s.accept(ClassDate, lo, end)
	}
	if end, ok := s.number(lo, hi); ok {
		return s.accept(ClassNumber, lo, end)
	}
	// A chunk such as 0.8+0.4 or 120-x: both sides may be more.
	for i := lo + 1; i < hi-1; i++ {
		if s.text[i] == '/' || s.text[i] == '-' || s.text[i] == '+' {
			s.rest(i+1, hi)
			return s.classifyKeeping(lo, i)
		}
	}
	return false
}

// number reports where the number at lo ends if it is worth remembering:
// three digits, a fraction, thousands, a unit, a currency, or an issue's #.
func (s *identScanner) number(lo, hi int) (int, bool) {
	c := s.text[lo:hi]
	sign := 0
	if c[0] == '#' || c[0] == '$' {
		sign = 1
	}
	i, digits := sign, 0
	for i < len(c) && (isDigit(c[i]) || i > sign && strings.IndexByte(".,_", c[i]) >= 0 && i+1 < len(c) && isDigit(c[i+1])) {
		if isDigit(c[i]) {
			digits++
		}
		i++
	}
	if digits == 0 {
		return 0, false
	}
	separated := digits < i-sign
	switch rest := c[i:]; {
	case rest == "":
		if end, ok := s.unitAfter(hi); ok {
			return end, true
		}
		return hi, sign == 1 || separated || digits >= 3
	case rest[0] == '-' && isDigits(rest[1:]):
		if end, ok := s.unitAfter(hi); ok {
			return end, true
		}
		return hi, digits >= 3 || len(rest) > 3
	case knownUnit[rest] || knownUnit[strings.ToLower(rest)]:
		return hi, true
	case ordinals[rest]:
		return 0, false
	}
	return hi, every(c[i:], isAlnum) && len(c) >= 3 // 2h30m, 4xx, 1080p, 0x1f
}

// unitAfter reports where a unit that follows a number at end ends.
func (s *identScanner) unitAfter(end int) (int, bool) {
	text := s.text
	for _, unit := range cjkUnits {
		if strings.HasPrefix(text[end:], unit) {
			return end + len(unit), true
		}
	}
	if end >= len(text) || text[end] != ' ' {
		return 0, false
	}
	i := end + 1
	for i < len(text) && (isAlpha(text[i]) || text[i] == '%' || text[i] == '/' && i > end+1) {
		i++
	}
	for i > end+1 && text[i-1] == '/' {
		i--
	}
	unit := text[end+1 : i]
	if unit == "" || i < len(text) && (isWordByte(text[i]) || text[i] >= utf8.RuneSelf && !spacelessAt(text, i)) {
		return 0, false
	}
	return i, knownUnit[unit] || unitWord[unit]
}

// isRate reports 600/min, 10/s and 3,200/s.
func isRate(c string) bool {
	n, per, ok := strings.Cut(c, "/")
	if !ok || !(knownUnit[per] || unitWord[per]) {
		return false
	}
	return isDigits(strings.NewReplacer(",", "", ".", "", "_", "").Replace(n))
}

func spacelessAt(text string, i int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	return spaceless(r) || r >= 0x3000 && r < 0x3040 || r >= 0xff00 && r < 0xffef || r >= 0x2000 && r < 0x2070
}

// withClock extends a date by a time of day that follows it.
func (s *identScanner) withClock(lo, hi int) int {
	text := s.text
	if hi-lo != 10 || hi >= len(text) || text[hi] != ' ' {
		return hi
	}
	end := runEnd(text, hi+1, func(b byte) bool { return isDigit(b) || strings.IndexByte(":.Z", b) >= 0 })
	end = hi + 1 + len(strings.TrimRight(text[hi+1:end], ".:"))
	if end-hi > 5 && dateForm().MatchString(text[hi+1:end]) {
		return end
	}
	return hi
}

// cjkDate takes 2026年3月1日 and its parts.
func (s *identScanner) cjkDate(hi int, c string) (int, bool) {
	if hi == len(s.text) || s.text[hi] < utf8.RuneSelf || !isDigits(c) {
		return 0, false
	}
	rest := cjkDateForm().FindString(s.text[hi:])
	return hi + len(rest), rest != "" && (len(c) == 4 || strings.ContainsAny(rest, "0123456789"))
}

var cjkDateForm = lazyregexp.New(`^[年月日号년월일](?:\d+[年月日号년월일])*`)

// dayMonth takes 15 November and 15 November 2026.
func (s *identScanner) dayMonth(lo, hi int) (int, bool) {
	day := s.text[lo:hi]
	if n := len(day); n > 2 && ordinals[day[n-2:]] {
		day = day[:n-2]
	}
	if !isDigits(day) || len(day) > 2 || hi >= len(s.text) || s.text[hi] != ' ' {
		return 0, false
	}
	end := runEnd(s.text, hi+1, isAlpha)
	return s.yearAfter(end), monthName[s.text[hi+1:end]]
}

// month takes November 15, November 15, 2026 and November 2026.
func (s *identScanner) month(lo, hi int) bool {
	text := s.text
	if hi >= len(text) || text[hi] != ' ' {
		return false
	}
	end := runEnd(text, hi+1, isDigit)
	n := end - hi - 1
	if n == 0 || n == 3 || n > 4 || end < len(text) && text[end] == ':' {
		return false
	}
	if end+2 <= len(text) && ordinals[text[end:end+2]] {
		end += 2
	}
	if end < len(text) && isWordByte(text[end]) {
		return false
	}
	if n <= 2 {
		end = s.yearAfter(end)
	}
	return s.accept(ClassDate, lo, end)
}

// yearAfter extends a date that ends at end by the year that follows it.
func (s *identScanner) yearAfter(end int) int {
	t := strings.TrimPrefix(s.text[end:], ",")
	if len(t) >= 5 && t[0] == ' ' && isDigits(t[1:5]) && (t[1] == '1' || t[1] == '2') && (len(t) == 5 || !isWordByte(t[5])) {
		return len(s.text) - len(t) + 5
	}
	return end
}

var (
	ordinals  = stringSet("st nd rd th")
	monthName = stringSet(`January February March April May June July August September October November December
		Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec`)
	// knownUnit may follow a number with or without a space.
	knownUnit = stringSet(`ns us µs ms s sec secs min mins h hr hrs d B kB KB MB GB TB PB KiB MiB GiB TiB kb mb gb tb
		k K M G T % x Hz kHz MHz GHz px em rem pt pp mm cm m km kg g mg W kW V A °C C F USD EUR GBP bps kbps Mbps Gbps
		rps qps fps tps MB/s GB/s KB/s kB/s MiB/s GiB/s msg/s req/s ops/s`)
	// unitWord follows a number only after a space. Things that are merely
	// counted (12 rows) are left to the sentence they stand in.
	unitWord = stringSet(`seconds second minutes minute hours hour days day weeks week months month years year
		milliseconds microseconds nanoseconds bytes bits kilobytes megabytes gigabytes tokens percent dollars euros`)
	cjkUnits = []string{"毫秒", "微秒", "秒", "分钟", "小时", "天", "元", "万", "亿", "个月", "ミリ秒", "時間", "分", "円", "밀리초", "초", "분", "시간", "원"}
)
