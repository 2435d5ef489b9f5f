export default function start(
  port,
  host = "localhost",
) {
  const server = () => {};
  return server;
}

export class Server {
  listen(port) {}
}
