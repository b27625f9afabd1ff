
// The program is in the package for this platform, else it is the lcm on the PATH.
import { createRequire } from "node:module"

try {
  const exe = process.platform === "win32" ? ".exe" : ""
  ENGINE[0] = createRequire(import.meta.url).resolve(`@lossless-context/lcm-${process.platform}-${process.arch}/bin/lcm${exe}`)
} catch {}
