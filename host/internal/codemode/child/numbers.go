package child

import (
	"strconv"
	"strings"
)

// safeDigits is how many significant digits every JavaScript number keeps.
const safeDigits = 15

// odd reports whether the JSON text has a number that a JavaScript number does not
// hold with all its digits.
func odd(body string) bool {
	for i := 0; i < len(body); {
		switch b := body[i]; {
		case b == '"':
			i = afterString(body, i)
		case b == '-' || '0' <= b && b <= '9':
			end := i + 1
			for end < len(body) && strings.IndexByte("0123456789+-.eE", body[end]) >= 0 {
				end++
			}
			if n := body[i:end]; (len(n) > safeDigits || strings.ContainsAny(n, "eE")) && lossy(n) {
				return true
			}
			i = end
		default:
			i++
		}
	}
	return false
}

// afterString is the index behind the string that begins at i.
func afterString(body string, i int) int {
	for i++; i < len(body); i++ {
		switch body[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return i
}

func lossy(n string) bool {
	if !strings.ContainsAny(n, ".eE") {
		v, err := strconv.ParseInt(n, 10, 64)
		return err != nil || v > 1<<53-1 || v < -(1<<53-1)
	}
	f, err := strconv.ParseFloat(n, 64)
	return err != nil || canonical(n) != canonical(strconv.FormatFloat(f, 'e', -1, 64))
}

// canonical is a number's text in one spelling: sign, digits, exponent.
func canonical(n string) string {
	mantissa, exp, _ := strings.Cut(strings.ToLower(n), "e")
	e, err := strconv.Atoi(exp)
	if err != nil && exp != "" {
		return n
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	return sign + short + "e" + strconv.Itoa(e-len(fraction)+len(digits)-len(short))
}
