// reader.ts: from the bytes of a .utrace file to a recording.
import { DamagedRecording, type Json } from "./columns.ts";
import { Recording } from "./recording.ts";

const MAX_UNPACKED = 2 ** 30;

async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = stream.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  const parts: string[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    total += value.length;
    if (total > MAX_UNPACKED) throw new DamagedRecording("the recording is larger than 1 GiB when unpacked");
    parts.push(value);
  }
  return parts.join("");
}

/** Reads the bytes of a .utrace file: gzip, or the plain JSON inside it. */
export async function readRecording(bytes: Uint8Array<ArrayBuffer>): Promise<Recording> {
  if (bytes.length === 0) throw new DamagedRecording("the file is empty");
  const packed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!packed && bytes[0] !== 0x7b) throw new DamagedRecording("this is neither a gzip file nor JSON, so it is not a .utrace file");
  let text: string;
  try {
    text = packed ? await unpacked(bytes) : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof DamagedRecording) throw error;
    throw new DamagedRecording("the compressed data is damaged or cut off");
  }
  let data: Json;
  try {
    data = JSON.parse(text) as Json;
  } catch {
    throw new DamagedRecording("the file does not contain valid JSON; it may be cut off");
  }
  return new Recording(data);
}
