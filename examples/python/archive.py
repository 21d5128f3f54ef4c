"""Packs a project folder into zip, tar.gz, tar.xz and bz2, compares, repairs nothing and trusts no archive."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

STAMP = (2024, 2, 29, 12, 0, 0)


def make_project(root: Path):
    (root / "src" / "pkg").mkdir(parents=True)
    (root / "docs").mkdir()
    (root / "src" / "pkg" / "__init__.py").write_text("")
    for n in range(5):
        body = "".join(f"def f{i}(x):\n    return x * {i * n}\n\n" for i in range(40))
        (root / "src" / "pkg" / f"module_{n}.py").write_text(body)
    (root / "docs" / "größe.md").write_text("# Größe\n" + "Ein Satz mit Umlauten: äöü.\n" * 200, encoding="utf-8")
    (root / "data.bin").write_bytes(bytes((i * i) % 251 for i in range(100_000)))


def checksums(root: Path):
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def pack_zip(root: Path, target: Path):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                info = zipfile.ZipInfo(path.relative_to(root).as_posix(), STAMP)
                info.compress_type = zipfile.ZIP_STORED if path.suffix == ".bin" else zipfile.ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())


def pack_tar(root: Path, target: Path, mode: str):
    def clean(info: tarfile.TarInfo):
        info.mtime, info.uid, info.gid, info.uname, info.gname = 1709208000, 0, 0, "", ""
        return info

    with tarfile.open(target, mode) as archive:
        archive.add(root, arcname=".", filter=clean)


def evil_tar() -> io.BytesIO:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        info = tarfile.TarInfo("../outside.txt")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"evil"))
    data.seek(0)
    return data


def main():
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        project = base / "project"
        make_project(project)
        expected = checksums(project)
        size = sum(path.stat().st_size for path in project.rglob("*") if path.is_file())
        print(f"{len(expected)} files, {size:,} bytes")

        pack_zip(project, base / "project.zip")
        pack_tar(project, base / "project.tar.gz", "w:gz")
        pack_tar(project, base / "project.tar.xz", "w:xz")
        pack_tar(project, base / "project.tar.bz2", "w:bz2")
        for archive in sorted(base.glob("project.*")):
            out = base / "out" / archive.suffix[1:]
            if archive.suffix == ".zip":
                with zipfile.ZipFile(archive) as z:
                    print(f"{archive.name}: test {z.testzip()}, {len(z.namelist())} entries, first {z.namelist()[0]}")
                    z.extractall(out)
            else:
                with tarfile.open(archive) as t:
                    print(f"{archive.name}: {len(t.getmembers())} members, {sum(m.isdir() for m in t)} folders")
                    t.extractall(out, filter="data")
            print("  same files:", checksums(out) == expected, "| smaller:", archive.stat().st_size < size)

        with zipfile.ZipFile(base / "project.zip") as z, z.open("docs/größe.md") as f:
            print("line in the zip:", io.TextIOWrapper(f, "utf-8").readlines()[1].strip())
        broken = bytearray((base / "project.zip").read_bytes())
        broken[broken.find(b"data.bin") + 5000] ^= 0xFF
        print("damaged entry:", zipfile.ZipFile(io.BytesIO(broken)).testzip())
        try:
            tarfile.open(fileobj=evil_tar()).extractall(base / "out", filter="data")
        except tarfile.OutsideDestinationError as err:
            print("refused:", type(err).__name__, "| escaped:", (base / "outside.txt").exists())
        shutil.make_archive(str(base / "again"), "zip", project)
        print("make_archive:", (base / "again.zip").exists())

        text = (project / "docs" / "größe.md").read_bytes()
        with gzip.open(base / "log.gz", "wb") as f:
            for _ in range(3):
                f.write(text)
        with gzip.open(base / "log.gz", "rt", encoding="utf-8") as f:
            print("gzip lines:", sum(1 for _ in f))
        for module in (zlib, bz2, lzma):
            packed = module.compress(text)
            print(f"{module.__name__}: round trip {module.decompress(packed) == text}, ratio above 10: {len(text) / len(packed) > 10}")
        print("crc32 %08x, adler32 %08x" % (zlib.crc32(text), zlib.adler32(text)))
        try:
            gzip.decompress(gzip.compress(text)[:-6])
        except EOFError as err:
            print("cut off:", err)
    print("cleaned up:", not os.path.exists(name))


if __name__ == "__main__":
    main()
