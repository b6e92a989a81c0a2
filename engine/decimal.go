package engine

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Counters are exact decimals of a bounded length, so that adding up is the same at every site, in any order.
const (
	maxDigits   = 64
	maxExponent = 64
)

// decimal is unscaled × 10^-scale. Values are not changed once made.
type decimal struct {
	unscaled *big.Int
	scale    int
}

// parseDecimal reads a JSON number. It refuses what is no number, and one that is too long.
func parseDecimal(s string) (decimal, error) {
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(strings.TrimPrefix(s[i+1:], "+")); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return decimal{}, fmt.Errorf("the number %.20q is out of bounds", s)
		}
		mantissa = s[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if len(digits) == 0 || len(digits) > maxDigits || strings.ContainsAny(digits, "_+") {
		return decimal{}, fmt.Errorf("%.20q is no number, or has more than %d digits", s, maxDigits)
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return decimal{}, fmt.Errorf("%.20q is no number", s)
	}
	d := decimal{n, len(fraction) - exponent}
	if d.scale < 0 {
		d = decimal{new(big.Int).Mul(n, power(-d.scale)), 0}
	}
	return d, nil
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// plus returns d + e.
func (d decimal) plus(e decimal) decimal {
	scale := max(d.scale, e.scale)
	x := new(big.Int).Mul(d.unscaled, power(scale-d.scale))
	y := new(big.Int).Mul(e.unscaled, power(scale-e.scale))
	return decimal{x.Add(x, y), scale}
}

func (d decimal) minus(e decimal) decimal {
	return d.plus(decimal{new(big.Int).Neg(e.unscaled), e.scale})
}

// number returns d as a JSON number without an exponent and without zeros that say nothing.
func (d decimal) number() json.Number {
	digits := new(big.Int).Abs(d.unscaled).String()
	if len(digits) <= d.scale {
		digits = strings.Repeat("0", d.scale-len(digits)+1) + digits
	}
	whole, fraction := digits[:len(digits)-d.scale], strings.TrimRight(digits[len(digits)-d.scale:], "0")
	s := whole
	if fraction != "" {
		s += "." + fraction
	}
	if d.unscaled.Sign() < 0 {
		s = "-" + s
	}
	return json.Number(s)
}

var zero = decimal{big.NewInt(0), 0}
