"""Builds the kernels in C into the wheel; without a compiler the wheel has none of them."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension

KERNELS = Extension(
    "salience_native",
    ["src/salience_native.c"],
    extra_compile_args=["-O3", "-ffp-contract=off"],
    py_limited_api=True,
    optional=True,
)


class KernelsBuildHook(BuildHookInterface[Any]):
    """One module for all versions of Python from 3.11 on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say for which platform the wheel is."""
        distribution = Distribution({"ext_modules": [KERNELS], "package_dir": {"": "src"}})
        command = distribution.get_command_obj("build_ext")
        command.inplace = version == "editable"  # type: ignore[attr-defined]
        command.build_lib = command.build_temp = str(Path(self.root, "build", "kernels"))  # type: ignore[attr-defined]
        command.ensure_finalized()
        module = Path(command.get_ext_fullpath(KERNELS.name))  # type: ignore[attr-defined]
        module.unlink(missing_ok=True)
        command.run()
        if not module.is_file():
            return
        if version != "editable":
            build_data["force_include"][str(module)] = module.name
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"cp311-abi3-{platform}"
