import { runFiles } from './files.ts';

await runFiles('TOGETHER_routes');
