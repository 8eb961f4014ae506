import assert from 'node:assert/strict'
import * as ai from 'ai'
import { live } from '../live-suite.mjs'

assert.equal(process.versions.node.split('.')[0], '22')
live(ai, 7, process.env.INLAY_BASE)
