// Burst writer: AXI4 write master. A command (byte address, bytes) takes its beats from the data stream and gives one
// status. If the command ends inside its last beat, WSTRB leaves the other bytes of that beat as they are.
//
// Rules it keeps:
// - bursts are INCR, aligned, at most MAX_BURST beats and never cross 4 KB; up to OUTSTANDING wait for B;
// - a burst is announced only when all its data is in the buffer, and its data is offered whether AW was accepted
//   or not: neither a slow producer nor a subordinate that wants one channel first can block the bus. Write data
//   is in the order of the addresses;
// - BREADY depends on nobody: a command is taken only when its status has room (so after OUTSTANDING commands
//   whose statuses nobody takes, no command is taken);
// - the status comes after the command's last B and is the worst of its responses;
// - zero bytes are a no-op with status OK; an unaligned command's data is dropped, nothing goes to the bus.
`default_nettype none

module hlsc_axi_write #(
    parameter int DATA_WIDTH   = 512,  // bits of one beat: 32, 64, 128, 256, 512 or 1024
    parameter int ADDR_WIDTH   = 64,   // bits of a byte address
    parameter int LENGTH_WIDTH = 32,   // bits of a command's length in bytes
    parameter int ID_WIDTH     = 1,    // bits of AWID; AWID is always 0
    parameter int MAX_BURST    = 16,   // beats of the largest burst: a power of two up to 256
    parameter int OUTSTANDING  = 16,   // bursts under way, and commands with a status not yet taken
    parameter int BUFFER       = 2 * MAX_BURST + 4  // beats the buffer holds; two bursts for full throughput
) (
    input  wire                       clk,
    input  wire                       rst,              // synchronous, active high
    input  wire                       command_valid,
    output logic                      command_ready,
    input  wire  [    ADDR_WIDTH-1:0] command_address,  // bytes, a multiple of the beat's bytes
    input  wire  [  LENGTH_WIDTH-1:0] command_bytes,
    input  wire                       data_valid,
    output logic                      data_ready,
    input  wire  [    DATA_WIDTH-1:0] data,
    output logic                      status_valid,
    input  wire                       status_ready,
    output logic [               1:0] status,           // 0 ok, 1 unaligned, 2 SLVERR, 3 DECERR (the worst burst's)
    output logic                      awvalid,
    input  wire                       awready,
    output logic [    ADDR_WIDTH-1:0] awaddr,
    output logic [      ID_WIDTH-1:0] awid,
    output logic [               7:0] awlen,
    output logic [               2:0] awsize,
    output logic [               1:0] awburst,
    output logic [               1:0] awlock,
    output logic [               3:0] awcache,
    output logic [               2:0] awprot,
    output logic [               3:0] awqos,
    output logic [               3:0] awregion,
    output logic                      wvalid,
    input  wire                       wready,
    output logic [    DATA_WIDTH-1:0] wdata,
    output logic [  DATA_WIDTH/8-1:0] wstrb,
    output logic                      wlast,
    input  wire                       bvalid,
    output logic                      bready,
    input  wire  [               1:0] bresp
);
  localparam int BYTES = DATA_WIDTH / 8;
  localparam int BURST = (MAX_BURST * BYTES > 4096) ? 4096 / BYTES : MAX_BURST;  // beats
  localparam int S = $clog2(BYTES);
  localparam int L = LENGTH_WIDTH - S + 1;  // bits of a number of beats in a command
  localparam int F = $clog2(BUFFER + 1);  // bits of a number of buffered beats
  localparam int N = $clog2(OUTSTANDING + 1);  // bits of a number of commands

  if (DATA_WIDTH < 32 || DATA_WIDTH > 1024 || 2 ** $clog2(DATA_WIDTH) != DATA_WIDTH) begin : gen_width
    $error("%m: DATA_WIDTH (%0d) must be a power of two from 32 to 1024", DATA_WIDTH);
  end
  if (MAX_BURST < 1 || MAX_BURST > 256 || 2 ** $clog2(MAX_BURST) != MAX_BURST) begin : gen_burst
    $error("%m: MAX_BURST (%0d) must be a power of two from 1 to 256", MAX_BURST);
  end
  if (OUTSTANDING < 1 || BUFFER < BURST) begin : gen_buffer
    $error("%m: OUTSTANDING (%0d) must be at least 1, BUFFER (%0d) one burst (%0d)", OUTSTANDING, BUFFER, BURST);
  end

  // Commands to items: a burst, a piece of an unaligned command's data, or a skip (nothing to write)
  logic [L-1:0] command_beats;
  logic [S-1:0] tail, item_tail;  // bytes in the last beat of the command, of the item; 0: all
  logic split_ready, item_valid, item_ready, item_last, item_unaligned, item_skip;
  logic [ADDR_WIDTH-1:0] item_address;
  logic [8:0] item_beats;
  logic [7:0] item_length;  // as AxLEN: beats - 1
  logic [N-1:0] commands;  // commands taken whose status was not yet taken
  logic command_room;

  assign command_ready = split_ready && command_room;
  assign command_beats = L'(command_bytes[LENGTH_WIDTH-1:S]) + L'(|command_bytes[S-1:0]);

  always_ff @(posedge clk) if (command_valid && command_ready) tail <= command_bytes[S-1:0];

  hlsc_axi_split #(
      .ADDR_WIDTH(ADDR_WIDTH), .BYTES(BYTES), .LENGTH_WIDTH(L), .BURST(BURST), .CHUNK_UNALIGNED(1)
  ) split (
      .clk, .rst,
      .command_valid(command_valid && command_room), .command_ready(split_ready),
      .command_address, .command_beats,
      .burst_valid(item_valid), .burst_ready(item_ready), .burst_address(item_address),
      .burst_beats(item_beats), .burst_last(item_last), .burst_unaligned(item_unaligned)
  );

  // The buffer, and how many of its beats no item has claimed
  logic piece_valid, buffered, beat_done;
  logic [F-1:0] unclaimed;

  hlsc_fifo #(.WIDTH(DATA_WIDTH), .DEPTH(BUFFER)) buffer (
      .clk, .rst,
      .din(data), .write(data_valid && data_ready), .full_n(data_ready),
      .dout(wdata), .read(beat_done), .empty_n(buffered)
  );

  // Items to the address channel, to the data channel (pieces) and to the response channel (tags)
  logic request_free, piece_free, tag_free, taken;

  assign item_length = 8'(item_beats - 9'd1);
  assign item_tail = item_last ? tail : '0;
  assign item_skip = item_beats == '0;
  assign item_ready = tag_free && (item_skip ||
      (piece_free && unclaimed >= F'(item_beats) && (item_unaligned || request_free)));
  assign taken = item_valid && item_ready;

  logic [7:0] piece_length;  // beats - 1
  logic [S-1:0] piece_tail;
  logic piece_drop, piece_end, piece_done;
  logic tag_valid, tag_done, tag_skip, tag_flag;  // flag: last burst of its command; of a skip: unaligned

  hlsc_fifo #(.WIDTH(ADDR_WIDTH + 8), .DEPTH(2)) requests (
      .clk, .rst,
      .din({item_address, item_length}), .write(taken && !item_skip && !item_unaligned),
      .full_n(request_free),
      .dout({awaddr, awlen}), .read(awvalid && awready), .empty_n(awvalid)
  );
  hlsc_fifo #(.WIDTH(S + 9), .DEPTH(OUTSTANDING), .BLOCK_ABOVE(OUTSTANDING)) pieces (
      .clk, .rst,
      .din({item_tail, item_unaligned, item_length}), .write(taken && !item_skip), .full_n(piece_free),
      .dout({piece_tail, piece_drop, piece_length}), .read(piece_done), .empty_n(piece_valid)
  );
  hlsc_fifo #(.WIDTH(2), .DEPTH(OUTSTANDING), .BLOCK_ABOVE(OUTSTANDING)) tags (
      .clk, .rst,
      .din((item_skip || item_unaligned) ? {1'b1, item_unaligned} : {1'b0, item_last}),
      .write(taken && (item_last || !item_unaligned)), .full_n(tag_free),
      .dout({tag_skip, tag_flag}), .read(tag_done), .empty_n(tag_valid)
  );
  assign awid     = '0;
  assign awsize   = 3'(S);
  assign awburst  = 2'b01;  // INCR
  assign awlock   = '0;
  assign awcache  = 4'b0011;  // modifiable, bufferable
  assign awprot   = '0;
  assign awqos    = '0;
  assign awregion = '0;

  // The data channel
  logic [7:0] sent;  // beats of the piece under way that are done

  assign wvalid     = piece_valid && buffered && !piece_drop;
  assign wlast      = piece_end;
  assign wstrb      = (piece_end && piece_tail != '0) ? ~({BYTES{1'b1}} << piece_tail) : '1;
  assign piece_end  = sent == piece_length;
  assign beat_done  = piece_valid && buffered && (piece_drop || wready);
  assign piece_done = beat_done && piece_end;

  // The response channel
  logic status_free, command_done;
  logic [1:0] worst, worst_now;  // response of the command under way

  assign bready       = tag_valid && !tag_skip;
  assign tag_done     = tag_valid && (tag_skip || bvalid);
  assign command_done = tag_done && (tag_skip || tag_flag);
  assign worst_now    = (bresp[1] && bresp > worst) ? bresp : worst;

  hlsc_fifo #(.WIDTH(2), .DEPTH(OUTSTANDING), .BLOCK_ABOVE(OUTSTANDING)) statuses (
      .clk, .rst,
      .din(tag_skip ? {1'b0, tag_flag} : worst_now), .write(command_done), .full_n(status_free),
      .dout(status), .read(status_valid && status_ready), .empty_n(status_valid)
  );

  logic [N-1:0] commands_next;
  assign commands_next = commands + N'(command_valid && command_ready) - N'(status_valid && status_ready);

  always_ff @(posedge clk) begin
    if (rst) begin
      unclaimed    <= '0;
      sent         <= '0;
      commands     <= '0;
      command_room <= 1'b0;
      worst        <= '0;
    end else begin
      unclaimed    <= unclaimed + F'(data_valid && data_ready) - (taken ? F'(item_beats) : '0);
      commands     <= commands_next;
      command_room <= commands_next != N'(OUTSTANDING);
      if (beat_done) sent <= piece_end ? '0 : sent + 1'b1;
      if (command_done) worst <= '0;
      else if (tag_done) worst <= worst_now;
    end
  end

  wire _unused = &{1'b0, status_free};  // room is reserved beforehand
endmodule

`default_nettype wire
