// The peer ajv with JSON.parse: node ajv.mjs SET.frames SCHEMA.json. Prints nanoseconds a reply (CPU
// time of the process) and how many were accepted.
import { readFileSync } from 'node:fs';
import Ajv from 'ajv';

const [set, schemaFile] = process.argv.slice(2);
const schema = JSON.parse(readFileSync(schemaFile));
schema.required = ['messages']; // the corpus leaves reaction out where there is none
const validate = new Ajv({ strict: true, strictRequired: false }).compile(schema);
const bytes = readFileSync(set);
const frames = [];
for (let at = 0; at < bytes.length;) {
  const len = bytes.readUInt32LE(at);
  frames.push(bytes.subarray(at + 4, at + 4 + len));
  at += 4 + len;
}
const judge = (frame) => {
  try {
    return validate(JSON.parse(frame.toString('utf8')));
  } catch {
    return false;
  }
};
const pass = () => frames.reduce((accepted, frame) => accepted + judge(frame), 0);
const cpu = () => { const c = process.cpuUsage(); return (c.user + c.system) * 1e3; };
const accepted = pass();
const until = performance.now() + 500;
let warm = 0;
while (performance.now() < until) { pass(); warm++; }
const times = [];
for (let round = 0; round < 9; round++) {
  const begin = cpu();
  for (let n = 0; n < Math.max(1, warm / 5); n++) pass();
  times.push((cpu() - begin) / Math.max(1, Math.ceil(warm / 5)) / frames.length);
}
times.sort((a, b) => a - b);
console.log(`${times[4].toFixed(1)} ${accepted} ${frames.length}`);
