package tree

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

// Decimal is a number as JSON has them, exactly. Values are not changed once made; the zero value is 0.
type Decimal struct {
	unscaled *big.Int // nil: 0
	scale    int      // the number is unscaled × 10^-scale
}

// ParseDecimal reads a JSON number. It refuses what is no number, and one that is too long.
func ParseDecimal(s string) (Decimal, error) {
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		exponent, err = strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return Decimal{}, fmt.Errorf("the number %.20q is out of bounds", s)
		}
		mantissa = s[:i]
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := integer + fraction
	if len(digits) == 0 || len(digits) > maxDigits || strings.ContainsAny(digits, "_+") {
		return Decimal{}, fmt.Errorf("%.20q is no number, or has more than %d digits", s, maxDigits)
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return Decimal{}, fmt.Errorf("%.20q is no number", s)
	}
	d := Decimal{n, len(fraction) - exponent}
	if d.scale < 0 {
		d = Decimal{new(big.Int).Mul(n, power(-d.scale)), 0}
	}
	return d, nil
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func (d Decimal) integer() *big.Int {
	if d.unscaled == nil {
		return new(big.Int)
	}
	return d.unscaled
}

// Plus returns d + e.
func (d Decimal) Plus(e Decimal) Decimal {
	scale := max(d.scale, e.scale)
	x := new(big.Int).Mul(d.integer(), power(scale-d.scale))
	y := new(big.Int).Mul(e.integer(), power(scale-e.scale))
	return Decimal{x.Add(x, y), scale}
}

// Minus returns d - e.
func (d Decimal) Minus(e Decimal) Decimal {
	return d.Plus(Decimal{new(big.Int).Neg(e.integer()), e.scale})
}

// Times returns d × n.
func (d Decimal) Times(n int) Decimal {
	return Decimal{new(big.Int).Mul(d.integer(), big.NewInt(int64(n))), d.scale}
}

// Number returns d as a JSON number without an exponent and without zeros that say nothing.
func (d Decimal) Number() json.Number {
	digits := new(big.Int).Abs(d.integer()).String()
	if len(digits) <= d.scale {
		digits = strings.Repeat("0", d.scale-len(digits)+1) + digits
	}
	integer, fraction := digits[:len(digits)-d.scale], strings.TrimRight(digits[len(digits)-d.scale:], "0")
	if fraction != "" {
		integer += "." + fraction
	}
	if d.integer().Sign() < 0 {
		integer = "-" + integer
	}
	return json.Number(integer)
}
