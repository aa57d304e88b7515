"""`emufarm image`: builds, bakes, verifies, lists and pushes container images."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from ..fleet.docker.engine import connect
from ..image.builder import BASE_IMAGE, BASE_VARIABLE, ImageBuilder
from ..image.docker_image import bake_image, build_inputs, build_only
from ..image.docker_verify import image_status
from ..image.docker_verify import push as push_image
from ..image.docker_verify import verify as verify_image
from ..pins.profile import images_folder, load_profile, profile_names
from .output import notify, print_json

app = typer.Typer(help="Container images of phones: build, bake, verify, list, push.",
                  no_args_is_help=True)  # fmt: skip

MB = 1 << 20
ProfileName = Annotated[str, typer.Argument(help="A folder of images/.")]
BaseImage = Annotated[
    str, typer.Option(help="What it is built on; a tag or a digest.", envvar=BASE_VARIABLE)
]
Accept = Annotated[
    bool, typer.Option("--accept-licence", help="The SDK's licence, which you have read.")
]
Fresh = Annotated[bool, typer.Option("--no-cache", help="Take nothing from earlier builds.")]


@app.command()
def build(
    profile: ProfileName,
    base_image: BaseImage = BASE_IMAGE,
    accept_licence: Accept = False,
    no_cache: Fresh = False,
) -> None:
    """Build a device image and print its hashes as JSON; it is not baked, and has no name.

    Example: emufarm image build sim-api34
    """
    builder = _builder(base_image, accept_licence)
    hashes = build_only(builder, build_inputs(builder, load_profile(profile)), fresh=no_cache)
    print_json(hashes)


@app.command()
def bake(
    profile: ProfileName,
    base_image: BaseImage = BASE_IMAGE,
    accept_licence: Accept = False,
    no_cache: Fresh = False,
) -> None:
    """Build, boot, set up, save and commit an image, prove it in a new container, and lock it.

    A failure leaves neither a name nor anything else on the engine.

    Example: emufarm image bake pixel-api34 --accept-licence
    """
    builder = _builder(base_image, accept_licence)
    baked = bake_image(builder, build_inputs(builder, load_profile(profile)), fresh=no_cache)
    typer.echo(f"{baked.tag} {baked.image}")


@app.command()
def verify(profile: ProfileName, base_image: BaseImage = BASE_IMAGE) -> None:
    """Check the image against its lock, hash its contents, and prove that it starts as baked.

    Exit 0 if all of it holds, 20 with what does not.

    Example: emufarm image verify sim-api34
    """
    lock = verify_image(_builder(base_image), load_profile(profile))
    assert lock.container is not None
    typer.echo(f"{lock.container.tag} is the image that was baked, and starts as baked")


@app.command("list")
def listed(
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """List each profile with the image that the engine has, and whether it can be used.

    Example: emufarm image list
    """
    builder = _builder()
    found = [image_status(builder, load_profile(name)) for name in profile_names(images_folder())]
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=2))
        return
    for one in found:
        size = f"{one.size // MB} MB" if one.image else "-"
        typer.echo(
            f"{one.profile:<16}{one.tag:<48}{one.image[7:19] or '-':<14}{size:<9}{one.state}"
        )


@app.command()
def push(
    profile: ProfileName,
    name: Annotated[str, typer.Argument(help="REGISTRY/NAME; the tag is the profile's.")],
    base_image: BaseImage = BASE_IMAGE,
) -> None:
    """Push a proven image, and the worker image as NAME-worker; their digests go into its lock.

    An image with the vendor's SDK in it must stay private.

    Example: emufarm image push sim-api34 registry.example.org/farm/sim-api34
    """
    for pushed in push_image(_builder(base_image), load_profile(profile), name):
        typer.echo(f"{pushed.name} {pushed.digest}")


def _builder(base_image: str = BASE_IMAGE, accept_licence: bool = False) -> ImageBuilder:
    return ImageBuilder(connect(), notify, base_image=base_image, accept_licence=accept_licence)
