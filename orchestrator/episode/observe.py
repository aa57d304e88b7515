"""What is on the phone now, for the agent's eyes and for the record."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..device.display import Display
from ..device.phone import Device
from ..device.uitree import Element
from ..evidence.bundle import Bundle


@dataclass(frozen=True)
class Sight:
    png: bytes
    width: int
    height: int
    elements: tuple[Element, ...] | None
    package: str | None  # in front


def observe(device: Device, display: Display, step: int, bundle: Bundle) -> Sight:
    """One look: picture, tree, what is in front. A missing tree is a warning, never a fault."""
    shot = device.screen.capture()
    reading = device.screen.tree()
    front = device.foreground()
    file, sha256 = bundle.screenshot(shot.png)
    ui_hash = None
    if reading.xml is not None:
        _, ui_hash = bundle.dump(reading.xml)
    bundle.event(
        "obs_trace", "observation", step=step, ui_hash=ui_hash, screenshot_file=file,
        screenshot_sha256=sha256, warning=reading.warning,
    )  # fmt: skip
    bundle.event(
        "foreground_trace", "foreground", step=step, package=front.package,
        activity=front.activity, focus=front.focus, not_responding=front.not_responding,
    )  # fmt: skip
    bundle.event("device_trace", "device", step=step, serial=device.serial, state="device")
    bundle.event(
        "screen_trace", "screen", step=step, **screen_fields(display, shot.width, shot.height)
    )
    labelled = [fields for e in reading.elements or () if (fields := element_fields(e))]
    if labelled:
        bundle.event(
            "ui_elements", "ui_elements", step=step, ui_hash=ui_hash, source="uiautomator",
            ui_elements=labelled, elements_count=len(labelled),
        )  # fmt: skip
    return Sight(shot.png, shot.width, shot.height, reading.elements, front.package)


def screen_fields(display: Display, width: int, height: int) -> dict[str, object]:
    logical = {"width": display.width, "height": display.height}
    return {
        "width_px": display.width,
        "height_px": display.height,
        "density_dpi": display.density,
        "surface_orientation": 0,
        "orientation": "portrait" if display.height >= display.width else "landscape",
        "screenshot_size_px": {"width": width, "height": height},
        "logical_screen_size_px": logical,
        "physical_frame_boundary_px": {"left": 0, "top": 0, "right": width, "bottom": height},
    }


def element_fields(element: Element) -> dict[str, object] | None:
    """As the evidence pack wants elements; None for one that carries no words."""
    if not (element.text + element.description + element.resource_id).strip():
        return None
    fields = asdict(element)
    bounds = element.bounds
    del fields["bounds"], fields["depth"], fields["description"], fields["class_name"]
    return {
        **fields,
        "desc": element.description,
        "class": element.class_name,
        "bbox": [bounds.left, bounds.top, bounds.right, bounds.bottom],
    }
