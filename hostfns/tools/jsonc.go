package tools

// stripComments returns JSON in which comments, and commas before a closing bracket, are blanks. Offsets stay as they are, so
// that errors name the right line.
func stripComments(text []byte) []byte {
	out := append([]byte(nil), text...)
	if len(out) >= 3 && string(out[:3]) == "\xef\xbb\xbf" {
		copy(out, "   ") // some editors begin files so
	}
	comma := -1 // the last comma, as long as nothing but blanks and comments follows it
	for i := 0; i < len(out); {
		next := i + 1
		switch c := out[i]; c {
		case ' ', '\t', '\r', '\n':
		case '"':
			comma = -1
			next = stringEnd(out, i)
		case '/':
			end := commentEnd(out, i)
			if end < 0 {
				comma = -1
				break
			}
			next = end
			for ; i < end; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
		case ',':
			comma = i
		case ']', '}':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		default:
			comma = -1
		}
		i = next
	}
	return out
}

// stringEnd returns what is behind the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// commentEnd returns what is behind the comment that begins at i; -1: there is none.
func commentEnd(text []byte, i int) int {
	if i+1 >= len(text) {
		return -1
	}
	switch text[i+1] {
	case '/':
		for i < len(text) && text[i] != '\n' {
			i++
		}
		return i
	case '*':
		for j := i + 2; j+1 < len(text); j++ {
			if text[j] == '*' && text[j+1] == '/' {
				return j + 2
			}
		}
	}
	return -1
}
