package command

// matchMax is how many bytes of a pattern and of a text are compared at most, so that a pattern
// with many stars does not take for ever.
const matchMax = 1 << 18

// Match reports whether a text is what a pattern of Redis stands for: ? any byte, * any bytes,
// [abc] [^a-c] one of some, a backslash before what stands for itself.
func Match(pattern, text []byte) bool {
	steps := matchMax
	return match(pattern, text, &steps)
}

func match(p, s []byte, steps *int) bool {
	for len(p) > 0 {
		if *steps--; *steps < 0 {
			return false
		}
		switch p[0] {
		case '*':
			for len(p) > 1 && p[1] == '*' {
				p = p[1:]
			}
			if len(p) == 1 {
				return true
			}
			for i := 0; i <= len(s); i++ {
				if match(p[1:], s[i:], steps) {
					return true
				}
				if *steps < 0 {
					return false
				}
			}
			return false
		case '?':
			if len(s) == 0 {
				return false
			}
			p = p[1:]
		case '[':
			if len(s) == 0 {
				return false
			}
			in, rest := class(p[1:], s[0])
			if !in {
				return false
			}
			p = rest
		default:
			if p[0] == '\\' && len(p) > 1 {
				p = p[1:]
			}
			if len(s) == 0 || p[0] != s[0] {
				return false
			}
			p = p[1:]
		}
		s = s[1:]
	}
	return len(s) == 0
}

// class reports whether a byte is in the class that p begins with, behind its bracket, and returns
// what follows the class.
func class(p []byte, c byte) (in bool, rest []byte) {
	not := len(p) > 0 && p[0] == '^'
	if not {
		p = p[1:]
	}
	for len(p) > 0 && p[0] != ']' {
		switch {
		case p[0] == '\\' && len(p) > 1:
			in = in || p[1] == c
			p = p[2:]
		case len(p) > 2 && p[1] == '-':
			low, high := min(p[0], p[2]), max(p[0], p[2])
			in = in || low <= c && c <= high
			p = p[3:]
		default:
			in = in || p[0] == c
			p = p[1:]
		}
	}
	if len(p) > 0 {
		p = p[1:]
	}
	return in != not, p
}

// Literal is what every text begins with that a pattern stands for.
func Literal(pattern []byte) []byte {
	var text []byte
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '*', '?', '[':
			return text
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
		}
		text = append(text, pattern[i])
	}
	return text
}
