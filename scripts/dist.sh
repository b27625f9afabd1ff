#!/bin/sh
# Makes the packages of lcm in dist/, for `make dist`: an archive, an SBOM, an npm
# package and an MCP bundle for each of $PLATFORMS, a Debian package for those with
# Linux, plugins, and server.json for the MCP registry. It publishes nothing. It needs GNU tar
# and zip. The same commit makes the same bytes, but for the Debian packages of
# another version of nfpm.
set -eu
umask 022
out=$PWD/dist work=$PWD/dist/work
rm -rf "$out"
mkdir -p "$out/npm" "$work/common/completions"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH VERSION
about='Lossless context memory for AI agents'

# pack FILE DIR NAME… puts names in a directory into a .tgz or a .zip.
pack() {
	file=$1 dir=$2
	shift 2
	find "$dir" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	case $file in
	*gz) tar -C "$dir" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - "$@" | gzip -n9 >"$file" ;;
	*) (cd "$dir" && find "$@" -type f | LC_ALL=C sort | TZ=UTC zip -qX9 "$file" -@) ;;
	esac
}

# sbom BINARY writes a CycloneDX list of the modules that a binary has in it.
sbom() {
	"$GO" version -m "$1" | awk -F '\t' -v version="$VERSION" -v about="$about" '
		function component(kind, name, at) {
			return sprintf("{\"type\":\"%s\",\"name\":\"%s\",\"version\":\"%s\",\"purl\":\"pkg:golang/%s@%s\"}", kind, name, at, tolower(name), at)
		}
		NR == 1 { sub(/.*: go/, ""); list = component("library", "stdlib", $0) }
		$2 == "mod" { self = component("application", $3, version) }
		$2 == "dep" { list = list ",\n  " component("library", $3, $4) }
		END { printf "{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.6\",\"version\":1,\"metadata\":{\"component\":%s},\"components\":[\n  %s\n]}\n", self, list }'
}

# third_party prints the licences of the modules in the program, which ask to go with it.
third_party() {
	"$GO" list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}|{{.Dir}}{{end}}{{end}}' ./cmd/lcm | sort -u | while IFS='|' read -r module dir; do
		printf '==== %s\n\n' "$module"
		find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'unlicense*' \) | LC_ALL=C sort | while read -r text; do cat "$text"; done
		echo
	done
}

# manual prints the manual page: the help of every command in the table of docs/CLI.md.
manual() {
	printf '.TH LCM 1\n.SH NAME\nlcm \\- %s\n' "$about"
	sed -n 's/^| `\(lcm[a-z -]*\)`.*/\1/p' docs/CLI.md | while read -r command; do
		printf '.SH %s\n.nf\n' "$command"
		bin/$command --help | sed "s/\\\\/\\\\e/g; s/-/\\\\-/g; s/^[.']/\\\\\\&&/"
		echo .fi
	done
	printf '.SH EXIT STATUS\n'
	sed -n 's/^| \([0-9]*\) | \(.*\) |$/.TP\n\1\n\2/p' docs/CLI.md
}

cp LICENSE "$work/common"
manual >"$work/common/lcm.1"
cp scripts/package-readme.md "$work/common/README.md" # that of the repository is for a clone
third_party >"$work/common/THIRD-PARTY.txt"
bin/lcm completion bash >"$work/common/completions/lcm.bash"
bin/lcm completion zsh >"$work/common/completions/_lcm"
bin/lcm completion fish >"$work/common/completions/lcm.fish"
bin/lcm completion powershell >"$work/common/completions/lcm.ps1"
gzip -n9 <"$work/common/lcm.1" >"$work/lcm.1.gz"

optional=
for platform in $PLATFORMS; do
	os=${platform%/*} arch=${platform#*/} exe= node=${platform%/*}
	cpu=$arch archive=tar.gz
	if [ "$arch" = amd64 ]; then cpu=x64; fi
	if [ "$os" = windows ]; then exe=.exe node=win32 archive=zip; fi
	name=lcm-$VERSION-$os-$cpu
	echo "build $name"
	cp -R "$work/common" "$work/$name"
	GOOS=$os GOARCH=$arch "$GO" build -trimpath -ldflags "$LDFLAGS" -o "$work/$name/lcm$exe" ./cmd/lcm
	pack "$out/$name.$archive" "$work" "$name"
	sbom "$work/$name/lcm$exe" >"$out/$name.cdx.json"

	npm=$work/npm-$node-$cpu
	mkdir -p "$npm/package/bin"
	ln "$work/$name/lcm$exe" "$npm/package/bin/"
	cp LICENSE "$work/common/THIRD-PARTY.txt" "$npm/package"
	cat >"$npm/package/package.json" <<-END
		{
		  "name": "@lossless-context/lcm-$node-$cpu",
		  "version": "$VERSION",
		  "description": "The program of @lossless-context/lcm for $node-$cpu",
		  "license": "Apache-2.0",
		  "os": ["$node"],
		  "cpu": ["$cpu"],
		  "files": ["bin", "THIRD-PARTY.txt"],
		  "preferUnplugged": true
		}
	END
	pack "$out/npm/lossless-context-lcm-$node-$cpu-$VERSION.tgz" "$npm" package
	optional="$optional${optional:+,
    }\"@lossless-context/lcm-$node-$cpu\": \"$VERSION\""

	bundle=$work/mcpb-$node-$cpu
	mkdir -p "$bundle/server"
	ln "$work/$name/lcm$exe" "$bundle/server/"
	cp LICENSE "$work/common/THIRD-PARTY.txt" "$bundle"
	cat >"$bundle/manifest.json" <<-END
		{
		  "manifest_version": "0.3",
		  "name": "lcm",
		  "version": "$VERSION",
		  "description": "$about",
		  "author": {"name": "The lcm authors"},
		  "license": "Apache-2.0",
		  "server": {
		    "type": "binary",
		    "entry_point": "server/lcm$exe",
		    "mcp_config": {"command": "\${__dirname}/server/lcm$exe", "args": ["mcp"]}
		  },
		  "compatibility": {"platforms": ["$node"]}
		}
	END
	pack "$out/$name.mcpb" "$bundle" LICENSE THIRD-PARTY.txt manifest.json server

	if [ "$os" = linux ]; then
		cat >"$work/nfpm.yaml" <<-END
			name: lcm
			arch: $arch
			version: $VERSION
			section: utils
			priority: optional
			maintainer: The lcm authors
			description: $about
			license: Apache-2.0
			contents:
			  - {src: $work/$name/lcm, dst: /usr/bin/lcm, file_info: {mode: 0755}}
			  - {src: $work/lcm.1.gz, dst: /usr/share/man/man1/lcm.1.gz, file_info: {mode: 0644}}
			  - {src: LICENSE, dst: /usr/share/doc/lcm/copyright, file_info: {mode: 0644}}
			  - {src: $work/common/THIRD-PARTY.txt, dst: /usr/share/doc/lcm/THIRD-PARTY.txt, file_info: {mode: 0644}}
			  - {src: $work/common/completions/lcm.bash, dst: /usr/share/bash-completion/completions/lcm, file_info: {mode: 0644}}
			  - {src: $work/common/completions/_lcm, dst: /usr/share/zsh/vendor-completions/_lcm, file_info: {mode: 0644}}
			  - {src: $work/common/completions/lcm.fish, dst: /usr/share/fish/vendor_completions.d/lcm.fish, file_info: {mode: 0644}}
		END
		"$GO" run "$NFPM" package --packager deb --config "$work/nfpm.yaml" --target "$out/lcm-$VERSION-$os-$cpu.deb"
	fi
done

# The command for npm: a few lines that start the program of the package for this platform.
mkdir -p "$work/npm/package/bin"
cp LICENSE "$work/common/README.md" "$work/npm/package"
cp scripts/npm-wrapper.js "$work/npm/package/bin/lcm.js"
chmod +x "$work/npm/package/bin/lcm.js"
cat >"$work/npm/package/package.json" <<END
{
  "name": "@lossless-context/lcm",
  "version": "$VERSION",
  "description": "$about",
  "license": "Apache-2.0",
  "mcpName": "io.github.lossless-context/lcm",
  "bin": {"lcm": "bin/lcm.js"},
  "files": ["bin"],
  "engines": {"node": ">=18"},
  "optionalDependencies": {
    $optional
  }
}
END
pack "$out/npm/lossless-context-lcm-$VERSION.tgz" "$work/npm" package

# The plugins, of what `lcm setup` writes: for opencode, pi and OpenClaw npm packages.
"$GO" run ./scripts/plugins "$out/plugins" "$VERSION" claude gemini
for host in opencode pi openclaw; do
	"$GO" run ./scripts/plugins "$work/plugins-$host" "$VERSION" "$host"
	mv "$work/plugins-$host/$host" "$work/plugins-$host/package"
	cp LICENSE "$work/plugins-$host/package"
	pack "$out/npm/lossless-context-$host-$VERSION.tgz" "$work/plugins-$host" package
done
cat >"$out/server.json" <<END
{
  "\$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "io.github.lossless-context/lcm",
  "description": "$about",
  "version": "$VERSION",
  "packages": [
    {
      "registryType": "npm",
      "identifier": "@lossless-context/lcm",
      "version": "$VERSION",
      "transport": {"type": "stdio"},
      "packageArguments": [{"type": "positional", "value": "mcp"}]
    }
  ]
}
END
rm -rf "$work"
cd "$out"
find . -type f ! -name SHA256SUMS | sed 's|^\./||' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS
wc -c $(cut -c 67- SHA256SUMS)
