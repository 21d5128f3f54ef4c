package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
)

// encodings returns the forms in which a value is looked for. None is shorter than MinValue.
func encodings(v string) []string {
	var all []string
	for _, form := range []string{v, strings.ReplaceAll(strings.ReplaceAll(v, "\r\n", "\n"), "\n", "\r\n")} {
		all = append(all, form)
		all = append(all, escapes(form)...)
		all = append(all, percent(form)...)
		all = append(all, base64s(form)...)
		h := hex.EncodeToString([]byte(form))
		all = append(all, h, strings.ToUpper(h))
	}
	return all
}

// escapes are the ways to write a value inside a string of JSON, Python, Go or HTML.
func escapes(v string) []string {
	plain := jsonString(v, false)
	ascii := jsonASCII(v)
	quoted := strconv.Quote(v)
	single := strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `'`, `\'`)
	return []string{
		plain, jsonString(v, true), ascii,
		strings.ReplaceAll(plain, "/", `\/`), strings.ReplaceAll(ascii, "/", `\/`),
		// JSON in a string of JSON, as results of tools have it
		jsonString(plain, false), jsonString(jsonString(v, true), true), jsonString(ascii, false),
		quoted[1 : len(quoted)-1], single, strings.ReplaceAll(single, `\'`, `'`),
		html.EscapeString(v), strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(v), "&#34;", "&quot;"), "&#39;", "&#x27;"),
	}
}

// jsonString is v as encoding/json writes it, without the quotes.
func jsonString(v string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	_ = e.Encode(v) // a string can always be encoded
	s := strings.TrimSuffix(b.String(), "\n")
	return s[1 : len(s)-1]
}

// jsonASCII is v as Python's json writes it: all that is not ASCII is escaped.
func jsonASCII(v string) string {
	var b strings.Builder
	for _, r := range jsonString(v, false) {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		}
	}
	return b.String()
}

const upperHex, lowerHex = "0123456789ABCDEF", "0123456789abcdef"

// percent are the ways to write a value in a URL or a form. Encoders differ in what they leave alone, besides letters and
// digits, and in the case of their digits.
func percent(v string) []string {
	var all []string
	for _, safe := range []string{
		"-_.~",                 // Go's QueryEscape, Python's quote_plus, RFC 3986
		"-_.~/",                // Python's quote
		"-_.!~*'()",            // JavaScript's encodeURIComponent
		";,/?:@&=+$-_.!~*'()#", // JavaScript's encodeURI
		"-_.~$&+:=@",           // Go's PathEscape
		"*-._",                 // forms, as browsers send them
		"",                     // everything
	} {
		for _, digits := range []string{upperHex, lowerHex} {
			s := percentEncode(v, safe, digits)
			all = append(all, s, strings.ReplaceAll(s, "%20", "+"))
		}
	}
	return all
}

func percentEncode(v, safe, digits string) string {
	b := make([]byte, 0, 3*len(v))
	for i := range len(v) {
		c := v[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if alnum && safe != "" || strings.IndexByte(safe, c) >= 0 {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// base64s are a value's base64 by itself, and the characters that do not depend on what is around it when it is part of
// something longer: there are three ways in which it may be aligned.
func base64s(v string) []string {
	var all []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, enc.EncodeToString([]byte(v)), enc.WithPadding(base64.NoPadding).EncodeToString([]byte(v)))
		for shift := range 3 {
			b := make([]byte, shift, shift+len(v))
			s := enc.WithPadding(base64.NoPadding).EncodeToString(append(b, v...))
			first := (shift*8 + 5) / 6
			last := (shift + len(v)) * 8 / 6
			all = append(all, s[first:last])
		}
	}
	return all
}
