import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage earlier, for the rest of the process: a reconcile run drops millions of answers, which V8 would let pile up
 * on a large machine. Measured over 8,000 submissions: 237 MB instead of 300 (33 MB of live objects), and no slower.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
}
