"""Builds the wheel: the model of the default embedder, and the kernels in C where a compiler is."""

from __future__ import annotations

import shutil
import sysconfig
from importlib.metadata import distribution
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
MODEL = {
    "wordllama/weights/l2_supercat_256.safetensors": "weights",
    "wordllama/tokenizers/l2_supercat_tokenizer_config.json": "tokenizers",
    "licenses/LICENSE": ".",
}
"""The files that are taken from the distribution of WordLlama, and their folders."""


class SalienceBuildHook(BuildHookInterface[Any]):
    """A wheel for all versions of Python from 3.11 on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files that are not in the repository: beside the sources if these are used."""
        self._add_model(version, build_data)
        self._add_kernels(version, build_data)

    def _add_model(self, version: str, build_data: dict[str, Any]) -> None:
        wordllama = distribution("wordllama")
        for end, folder in MODEL.items():
            [source] = [each for each in wordllama.files or () if each.as_posix().endswith(end)]
            target = Path("salience", "embedders", "wordllama", folder, source.name)
            if version == "editable":
                copy = Path(self.root, "src", target)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source.locate(), copy)
            else:
                build_data["force_include"][str(source.locate())] = target.as_posix()

    def _add_kernels(self, version: str, build_data: dict[str, Any]) -> None:
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
