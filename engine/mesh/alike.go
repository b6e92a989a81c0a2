package mesh

import (
	"strings"
	"unicode"
)

// looks are letters that a reader takes for Latin ones, in their lower case, also where only the capitals look alike.
var looks = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ё': 'ë', 'һ': 'h', 'н': 'h', 'і': 'i', 'ї': 'ï', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'о': 'o',
	'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'у': 'y', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', // Cyrillic
	'α': 'a', 'β': 'b', 'ϲ': 'c', 'ε': 'e', 'η': 'h', 'ι': 'i', 'κ': 'k', 'μ': 'm', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'y', 'χ': 'x', 'ζ': 'z', // Greek
	'օ': 'o', 'ս': 'u', 'հ': 'h', 'ո': 'n', // Armenian
	'ı': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ɩ': 'i', 'ſ': 's', // Latin itself
}

// alike reports whether a reader may take one name for the other: they differ in capitals, in width, or in letters of other scripts that look the
// same.
func alike(a, b string) bool { return looksOf(a) == looksOf(b) }

func looksOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' { // as wide as a Chinese character
			r -= '！' - '!'
		}
		r = unicode.ToLower(r)
		if as, ok := looks[r]; ok {
			return as
		}
		return r
	}, name)
}

// together are scripts that one word may have letters of.
var together = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo}

// mixed reports whether a name has letters of several scripts, or of none: letters of mathematics look as those of Latin do.
func mixed(name string) bool {
	var script *unicode.RangeTable
	for _, r := range name {
		of := scriptOf(r)
		if !unicode.IsLetter(r) || of == nil && unicode.Is(unicode.Lm, r) { // such as what makes a vowel long
			continue
		}
		if of == nil || script != nil && script != of {
			return true
		}
		script = of
	}
	return false
}

func scriptOf(r rune) *unicode.RangeTable {
	for _, t := range together {
		if unicode.Is(t, r) {
			return unicode.Han
		}
	}
	if unicode.Is(unicode.Latin, r) {
		return unicode.Latin
	}
	for name, t := range unicode.Scripts {
		if name != "Common" && name != "Inherited" && unicode.Is(t, r) {
			return t
		}
	}
	return nil
}
