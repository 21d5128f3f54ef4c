package schema

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// number is an exact decimal: digits * 10^exp. It has no zeros at either end, and no digits at all when it is zero.
// JSON puts no limit on numbers; comparing these never makes a number of the size that is written.
type number struct {
	neg    bool
	digits string
	exp    int
}

// maxExponent bounds exponents; beyond, they all count as this large.
const maxExponent = 1 << 30

// parseNumber reads a JSON number, which has to be valid.
func parseNumber(s string) number {
	var n number
	if strings.HasPrefix(s, "-") {
		n.neg, s = true, s[1:]
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp := strings.TrimPrefix(s[i+1:], "+")
		e, err := strconv.Atoi(exp)
		if err != nil || e > maxExponent || e < -maxExponent {
			e = maxExponent
			if strings.HasPrefix(exp, "-") {
				e = -maxExponent
			}
		}
		n.exp, s = e, s[:i]
	}
	if whole, fraction, ok := strings.Cut(s, "."); ok {
		s = whole + fraction
		n.exp -= len(fraction)
	}
	s = strings.TrimLeft(s, "0")
	n.digits = strings.TrimRight(s, "0")
	n.exp += len(s) - len(n.digits)
	if n.digits == "" {
		return number{}
	}
	return n
}

// isInteger tells whether there is no fraction: 3.0 is an integer.
func (n number) isInteger() bool { return n.exp >= 0 }

// compare returns -1, 0 or 1.
func compare(a, b number) int {
	sign := 1
	switch {
	case a.digits == "" && b.digits == "":
		return 0
	case a.digits == "":
		return sign - 2*truth(!b.neg)
	case b.digits == "":
		return sign - 2*truth(a.neg)
	case a.neg != b.neg:
		return sign - 2*truth(a.neg)
	}
	if a.neg {
		sign = -1
	}
	if c := cmp.Compare(len(a.digits)+a.exp, len(b.digits)+b.exp); c != 0 {
		return sign * c
	}
	// Both are 0.digits * 10^e with the same e.
	return sign * strings.Compare(a.digits, b.digits)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// maxDivision bounds the digits of a division; larger numbers pass, rather than cost as much as they like.
const maxDivision = 400

// multipleOf tells whether n is a multiple of m. What cannot be told cheaply is.
func (n number) multipleOf(m number) bool {
	if m.digits == "" || n.digits == "" {
		return true
	}
	low := min(n.exp, m.exp)
	if len(n.digits)+n.exp-low > maxDivision || len(m.digits)+m.exp-low > maxDivision {
		return true
	}
	x, y := n.scaled(low), m.scaled(low)
	return x.Rem(x, y).Sign() == 0
}

// scaled returns the digits of n * 10^-low as an integer.
func (n number) scaled(low int) *big.Int {
	i, _ := new(big.Int).SetString(n.digits+strings.Repeat("0", n.exp-low), 10)
	return i
}
