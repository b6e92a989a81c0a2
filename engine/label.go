package engine

import "encoding/json"

// maxLabel is the most characters of a label.
const maxLabel = 100

// label is what people call a resource of kind k: the text in the field that the catalog names.
func (f Fold) label(k *Kind) string {
	if k.Label == "" || k.Hides(k.Label) {
		return ""
	}
	var text string
	if json.Unmarshal(f.Cells[k.Label].Value, &text) != nil {
		return ""
	}
	if runes := []rune(text); len(runes) > maxLabel {
		text = string(runes[:maxLabel-1]) + "…"
	}
	return text
}
