"""Compiles the modules of Comity that are written in C, where there is a C compiler.

Without them everything works the same, only slower.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SECONDS_MOST = 300


class CompileModules(BuildHookInterface[Any]):
    """Compiles every `_*.c` below src/comity beside its source."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before files are collected; a module that cannot be compiled is left out."""
        if self.target_name != "wheel":
            return
        for source in sorted(Path(self.root, "src", "comity").rglob("_*.c")):
            module = source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX") or ".so")
            complaint = _compile(source, module)
            if complaint is not None:
                module.unlink(missing_ok=True)  # one of an older source would do something else
                self.app.display_warning(f"{source.name} is not compiled, so Comity will be slower: {complaint}")
                continue
            build_data["artifacts"].append(module.relative_to(self.root).as_posix())
            if version != "editable":
                build_data["pure_python"] = False
                build_data["infer_tag"] = True


def _compile(source: Path, module: Path) -> str | None:
    """Compile one module; the reason if that is not possible."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    unfinished = module.with_name(f"{module.name}.{os.getpid()}")
    command = [*shlex.split(compiler), "-O3", "-fPIC", "-std=c11", f"-I{sysconfig.get_path('include')}", *shared]
    try:
        subprocess.run(  # noqa: S603 - the compiler that Python itself was made with, or the one of CC
            [*command, str(source), "-o", str(unfinished)], check=True, capture_output=True, timeout=_SECONDS_MOST
        )
        unfinished.replace(module)
    except (OSError, subprocess.SubprocessError) as error:
        unfinished.unlink(missing_ok=True)
        said = getattr(error, "stderr", None) or b""
        return said.decode(errors="replace").strip()[-500:] or str(error)
    return None
