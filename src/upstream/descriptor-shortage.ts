/** Whether the process is out of file descriptors, where the platform's error says something else. */

import { createSocket } from 'node:dgram';

/** Out of descriptors, a lookup may say that a name does not exist. Opening one shows whether there are any. */
export function checkDescriptors(onChecked: (shortage: NodeJS.ErrnoException | undefined) => void): void {
  const socket = createSocket('udp4');
  const check = (error?: NodeJS.ErrnoException): void => {
    socket.close();
    onChecked(error?.code === 'EMFILE' || error?.code === 'ENFILE' ? error : undefined);
  };
  socket.on('error', check);
  // Exclusive: a worker process opens its own, instead of sharing one of its primary's.
  socket.bind({ port: 0, address: '127.0.0.1', exclusive: true }, check);
}
