/** nginx as a floor, where it is installed: one worker that copies bytes. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from './programs.ts';

export async function startNginx(upstream: Program): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-nginx-'));
  const port = await freePort();
  writeFileSync(join(folder, 'nginx.conf'), configuration(folder, port, upstream.port));
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  const stop = (): void => {
    child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  };
  process.on('exit', stop);
  while (!(await isListening(port))) await delay(20);
  return { name: 'nginx', pid: child.pid ?? 0, host: '127.0.0.1', port, child, stop };
}

function configuration(folder: string, port: number, upstreamPort: number): string {
  return `daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr error;
events { worker_connections 16384; }
http {
  access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  keepalive_requests 1000000;
  upstream provider { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
  }
}
`;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
