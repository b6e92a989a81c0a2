package strictyaml

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// units of Size, in bytes: the binary ones of IEC 80000-13 and the decimal ones of the SI.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// Size returns a number of bytes over zero, written as 64KiB, 5GiB, 10MB or plain 65536.
func (v Value) Size() int64 {
	if !v.Present() {
		return 0
	}
	if v.node.Kind == yaml.ScalarNode && (v.tag() == "!!str" || v.tag() == "!!int") {
		if n, ok := parseSize(v.node.Value); ok {
			return n
		}
	}
	v.Problem("expected a size over zero such as 64KiB or 5GiB, found %s", v.describe())
	return 0
}

func parseSize(s string) (int64, bool) {
	unit := int64(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			s, unit = strings.TrimSpace(number), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || n == 0 || s[0] == '0' || n > uint64(math.MaxInt64/unit) {
		return 0, false
	}
	return int64(n) * unit, true
}

// Count returns a whole number over zero.
func (v Value) Count() int {
	if !v.Present() {
		return 0
	}
	if v.node.Kind == yaml.ScalarNode && v.tag() == "!!int" {
		if n, err := strconv.ParseInt(v.node.Value, 10, 32); err == nil && n > 0 {
			return int(n)
		}
	}
	v.Problem("expected a whole number over zero, found %s", v.describe())
	return 0
}

// Percent returns a part of one, written as 20%, up to 100%.
func (v Value) Percent() float64 {
	if !v.Present() {
		return 0
	}
	if number, ok := strings.CutSuffix(v.node.Value, "%"); ok && v.node.Kind == yaml.ScalarNode {
		if n, err := strconv.ParseFloat(number, 64); err == nil && n > 0 && n <= 100 {
			return n / 100
		}
	}
	v.Problem("expected a part of up to 100%% such as 20%%, found %s", v.describe())
	return 0
}

// Duration returns a time over zero in Go's form: 500ms, 1m30s, 24h.
func (v Value) Duration() time.Duration {
	if !v.Present() {
		return 0
	}
	if v.node.Kind == yaml.ScalarNode {
		if d, err := time.ParseDuration(v.node.Value); err == nil && d > 0 {
			return d
		}
	}
	v.Problem("expected a duration over zero such as 500ms, 30s or 1h, found %s", v.describe())
	return 0
}
