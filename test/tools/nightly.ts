/** Whether this is `npm run test:nightly`, which repeats at length what the proofs show in a few cases. */
export const isNightly = process.env['NIGHTLY'] === '1'
