package process

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
)

func TestEnded(t *testing.T) {
	if Ended(Owner()) {
		t.Error("this process has not ended")
	}
	for _, odd := range []string{"", "x", "-1-y", "0-y"} {
		if Ended(odd) {
			t.Errorf("nobody can tell that %q has ended", odd)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if !Ended(strconv.Itoa(c.Process.Pid) + "-x") {
		t.Error("a process that has ended is taken for one that has not")
	}
}
