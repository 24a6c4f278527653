/** Whether this is `npm run test:nightly`, which repeats the proofs extensively. */
export const isNightly = process.env['NIGHTLY'] === '1'
