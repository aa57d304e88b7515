"""Observes the phone for the agent and records what was seen."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..device.phone import Device
from ..device.screen import Display, Screenshot
from ..device.uitree import Element
from ..evidence.bundle import Bundle


@dataclass(frozen=True)
class ObservedScreen:
    """The phone's screen at one step."""

    png: bytes
    width: int
    height: int
    elements: tuple[Element, ...] | None


def observe(device: Device, display: Display, step: int, bundle: Bundle) -> ObservedScreen:
    """Takes a picture, the element tree, if there is one, and the foreground app."""
    shot = device.screen.capture()
    reading = device.screen.tree()
    front = device.foreground()
    state = device.adb_socket.state()
    file, sha256 = bundle.screenshot(shot.png)
    ui_hash = None if reading.xml is None else bundle.dump(reading.xml)[1]
    bundle.event(
        "obs_trace", "observation", step=step, ui_hash=ui_hash, screenshot_file=file,
        screenshot_sha256=sha256, warning=reading.warning,
    )  # fmt: skip
    bundle.event(
        "foreground_trace", "foreground", step=step, package=front.package,
        activity=front.activity, focus=front.focus, not_responding=front.not_responding,
    )  # fmt: skip
    bundle.event("device_trace", "device", step=step, serial=device.serial, state=state)
    bundle.event(
        "screen_trace", "screen", step=step, **screen_fields(display, front.rotation, shot)
    )
    labelled = [fields for e in reading.elements or () if (fields := element_fields(e))]
    if labelled:
        bundle.event(
            "ui_elements", "ui_elements", step=step, ui_hash=ui_hash, source="uiautomator",
            ui_elements=labelled, elements_count=len(labelled),
        )  # fmt: skip
    return ObservedScreen(shot.png, shot.width, shot.height, reading.elements)


def screen_fields(display: Display, rotation: int | None, shot: Screenshot) -> dict[str, object]:
    """The display's size is the natural one; apps, pictures and touches use the rotated one."""
    width, height = display.width, display.height
    if rotation in (1, 3):
        width, height = height, width
    return {
        "width_px": display.width,
        "height_px": display.height,
        "density_dpi": display.density,
        "surface_orientation": rotation,
        "orientation": "portrait" if height >= width else "landscape",
        "screenshot_size_px": {"width": shot.width, "height": shot.height},
        "logical_screen_size_px": {"width": width, "height": height},
        "physical_frame_boundary_px": {
            "left": 0, "top": 0, "right": shot.width, "bottom": shot.height,
        },
    }  # fmt: skip


def element_fields(element: Element) -> dict[str, object] | None:
    """The fields of an element in the evidence pack; None for an element without any text."""
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
