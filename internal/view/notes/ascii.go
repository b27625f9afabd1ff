package notes

import "strings"

func isDigit(b byte) bool    { return '0' <= b && b <= '9' }
func isLower(b byte) bool    { return 'a' <= b && b <= 'z' }
func isAlpha(b byte) bool    { return 'A' <= b && b <= 'Z' || isLower(b) }
func isWordByte(b byte) bool { return isAlpha(b) || isDigit(b) || b == '_' }
func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
