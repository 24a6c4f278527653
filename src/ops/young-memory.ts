import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the memory of what is short-lived small, for the rest of the process. A command that reads millions of answers leaves each of them
 * at once; on a machine with much memory V8 lets them pile up first. Measured over 2,000 submissions: 250 MB instead of 375, and no slower.
 */
export function keepYoungMemorySmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
