import { section, time, value } from './builders.ts'
import { cronOrOff } from './cron.ts'
import { number } from './values.ts'

/** When a destination is asked by itself what it has. */
export const verifying = section({ cron: value(cronOrOff), sample: value(number(1, 1_000_000)).optional() })
  .optional()
  .meta({
    description: '`cron` and `sample`: when the target is asked by itself what it has, and for how many changes; all when left out',
  })

export const lookupAfter = time('1ms', '1h').optional().meta({
  shown: 'none',
  description: 'how long after an attempt the target may not show the record yet: if a `lookup` finds nothing sooner, the change waits',
})
