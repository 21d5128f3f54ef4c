package config

// stripComments returns JSON in which // and /* */ comments, and commas before a closing bracket, are blanks. Lines and
// offsets stay.
func stripComments(text []byte) []byte {
	out := append([]byte(nil), text...)
	comma := -1 // of a comma that nothing follows yet
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			i++
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := commentEnd(out, i)
			for ; i < end; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			if (c == '}' || c == ']') && comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
			if c == ',' {
				comma = i
			}
			i++
		}
	}
	return out
}

// commentEnd returns where a comment that begins at i ends. One that is not closed is none: JSON's parser tells of it.
func commentEnd(text []byte, i int) int {
	if text[i+1] == '/' {
		for ; i < len(text) && text[i] != '\n'; i++ {
		}
		return i
	}
	for j := i + 2; j+1 < len(text); j++ {
		if text[j] == '*' && text[j+1] == '/' {
			return j + 2
		}
	}
	return i + 2
}
