package plan

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// canonical is the JSON text a digest is taken over: RFC 8785 (members sorted by
// UTF-16 code units, no white space, shortest escapes), save that numbers keep
// their exact decimal value. RFC 8785 rounds them to a double, which would give
// 2^53 and 2^53+1 one digest.
func canonical(n node) []byte { return writeNode(nil, n, "") }

// pretty is the canonical text with two-space indentation and a last newline.
func pretty(n node) []byte { return append(writeNode(nil, n, "\n"), '\n') }

// writeNode appends n. newline is "" for compact text, otherwise a line feed
// and the indentation of n.
func writeNode(b []byte, n node, newline string) []byte {
	switch n.kind {
	case kindObject:
		return writeItems(b, n, newline, '{', '}')
	case kindArray:
		return writeItems(b, n, newline, '[', ']')
	case kindString:
		return writeString(b, n.text)
	case kindNumber:
		if text, ok := canonicalNumber(n.text); ok {
			return append(b, text...)
		}
	}
	return append(b, n.text...)
}

func writeItems(b []byte, n node, newline string, open, end byte) []byte {
	b = append(b, open)
	if len(n.items) == 0 {
		return append(b, end)
	}
	inner, colon := newline, ":"
	if newline != "" {
		inner, colon = newline+"  ", ": "
	}
	for i, k := range memberOrder(n) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, inner...)
		if n.kind == kindObject {
			b = append(writeString(b, n.keys[k]), colon...)
		}
		b = writeNode(b, n.items[k], inner)
	}
	return append(append(b, newline...), end)
}

// memberOrder lists item indices in writing order.
func memberOrder(n node) []int {
	order := make([]int, len(n.items))
	for i := range order {
		order[i] = i
	}
	if n.kind == kindObject {
		slices.SortFunc(order, func(a, b int) int { return compareUTF16(n.keys[a], n.keys[b]) })
	}
	return order
}

func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

const hexDigits = "0123456789abcdef"

// writeString escapes as RFC 8785 section 3.2.2.2 does: quote, backslash and
// control characters only.
func writeString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		default:
			if short := strings.IndexByte("\b\t\n\f\r", c); short >= 0 {
				b = append(b, '\\', "btnfr"[short])
				continue
			}
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(b, '"')
}

// maxNumberSize bounds digits and exponent of a number, so that no exponent can
// ask for gigabytes of zeros.
const maxNumberSize = 400

// canonicalNumber writes a JSON number by its exact value, in the layout
// ECMAScript uses for doubles: 0.60 and 6e-1 are "0.6", -0 is "0". ok is false
// for a number with more than maxNumberSize digits or a larger exponent.
func canonicalNumber(text string) (string, bool) {
	sign, rest := "", text
	if strings.HasPrefix(rest, "-") {
		sign, rest = "-", rest[1:]
	}
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(rest), "e")
	exp := 0
	if hasExponent {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil || max(exp, -exp) > maxNumberSize {
			return "", false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if len(whole)+len(fraction) > maxNumberSize {
		return "", false
	}
	exp -= len(fraction)
	if digits == "" {
		return "0", true
	}
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	return sign + layoutDecimal(trimmed, exp), true
}

// layoutDecimal writes digits * 10^exp (ECMA-262, Number::toString).
func layoutDecimal(digits string, exp int) string {
	point := len(digits) + exp
	switch {
	case exp >= 0 && point <= 21:
		return digits + strings.Repeat("0", exp)
	case point > 0 && point <= 21:
		return digits[:point] + "." + digits[point:]
	case point > -6 && point <= 0:
		return "0." + strings.Repeat("0", -point) + digits
	}
	mantissa := digits[:1]
	if len(digits) > 1 {
		mantissa += "." + digits[1:]
	}
	sign := "-"
	if point >= 1 {
		sign = "+"
	}
	return mantissa + "e" + sign + strconv.Itoa(max(point-1, 1-point))
}
