// files.ts: opens recordings that a person chooses or drops, and saves what the page draws.
import { DamagedRecording } from "./columns.ts";
import { h } from "./dom.ts";
import { readRecording } from "./reader.ts";
import type { Recording } from "./recording.ts";

export function toast(text: string): void {
  document.querySelector(".toast")?.remove();
  const box = h("div", { class: "toast", role: "alert" }, text);
  document.body.append(box);
  setTimeout(() => box.remove(), 7000);
}

export function whyNot(error: unknown): string {
  return error instanceof DamagedRecording
    ? `This recording cannot be shown: ${error.message}.`
    : `This recording cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
}

async function readFile(file: File): Promise<Recording> {
  return readRecording(new Uint8Array(await file.arrayBuffer()));
}

export function chooseFile(opened: (recording: Recording, name: string) => void): void {
  const input = h("input", { type: "file", accept: ".utrace,.json,.gz" });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    if (file)
      readFile(file).then(
        (recording) => opened(recording, file.name),
        (error) => toast(whyNot(error)),
      );
  });
  input.click();
}

export function acceptDrops(opened: (recording: Recording, name: string) => void, failed: (message: string) => void): void {
  let depth = 0;
  const set = (d: number): void => {
    depth = Math.max(0, d);
    document.body.classList.toggle("dropping", depth > 0);
  };
  addEventListener("dragenter", (e) => {
    e.preventDefault();
    set(depth + 1);
  });
  addEventListener("dragleave", () => set(depth - 1));
  addEventListener("dragover", (e) => e.preventDefault());
  addEventListener("drop", (e) => {
    e.preventDefault();
    set(0);
    const file = e.dataTransfer?.files[0];
    if (file)
      readFile(file).then(
        (recording) => opened(recording, file.name),
        (error) => failed(whyNot(error)),
      );
  });
}

export function saveAs(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
