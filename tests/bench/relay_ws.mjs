// The least that a relay of WebSocket frames is in Node, for tests/bench/relay.sh:
//   node relay_ws.mjs LISTEN_PORT UPSTREAM_PORT
import { WebSocket, WebSocketServer } from 'ws';

const [listen, upstream] = process.argv.slice(2).map(Number);
const plain = { perMessageDeflate: false };
let framework;

const up = new WebSocket(`ws://127.0.0.1:${upstream}`, plain);
up.on('message', (data, binary) => framework?.send(data, { binary }));
up.on('close', () => process.exit(0));

new WebSocketServer({ ...plain, host: '127.0.0.1', port: listen }).on('connection', (socket) => {
  framework = socket;
  socket.on('message', (data, binary) => up.send(data, { binary }));
});
