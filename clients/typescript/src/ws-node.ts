export { WebSocket as default } from "ws";
