// Loaded by `node --import`: every server of the program listens on loopback only, and says on stderr where.
// The example servers bind all interfaces and print the port they were asked for, 0 included.
import net from 'node:net';

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (port, ...rest) {
  this.once('listening', () => {
    const { address, port } = this.address();
    process.stderr.write(`listening on ${address}:${port}\n`);
  });
  return listen.call(this, Number(port), '127.0.0.1', ...rest.filter((arg) => typeof arg === 'function'));
};
